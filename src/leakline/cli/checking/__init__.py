"""The parts of `leakline check`."""
