"""Models of library functions: what they allocate, release, keep and return."""
