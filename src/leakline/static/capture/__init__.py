"""Finds out how a program is built, and has clang write the facts of its units."""
