"""Rebuilds the machines of a run from its journal rows."""
