"""The abstract language of Skiff (2013) and its semantics, as an executable reference."""
