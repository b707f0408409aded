"""Turns recordings into findings."""
