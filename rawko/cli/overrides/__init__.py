"""Overrides at the command line: typed on the run's own terminal, or given from another process."""
