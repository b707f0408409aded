"""The path-sensitive walk over one function: values, states, memory, summaries."""
