"""Drives a run's machine to its end, or until it has to wait: for a person, a larger budget, or a writable disk."""
