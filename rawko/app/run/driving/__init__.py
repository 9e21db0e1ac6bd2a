"""Driving a run's machine to its end, or to where it has to wait: for a person, a larger budget, or a disk."""
