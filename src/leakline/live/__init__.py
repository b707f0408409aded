"""Talks to watched processes while they run."""
