"""Decides what a report shows: suppressions, ranking, fingerprints."""
