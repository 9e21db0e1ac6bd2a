"""Overrides on the command line: typed on the run's own terminal, or sent from another process."""
