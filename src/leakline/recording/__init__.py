"""Reads the recordings that the runtime leaves."""
