"""Renders a report for people and for tools; sees the model only."""
