"""Looks at a program's file and at this machine without running anything."""
