"""Losses in random C++ programs whose objects come and go all the time."""
