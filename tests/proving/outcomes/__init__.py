"""Outcomes and failures that a bounds file names."""
