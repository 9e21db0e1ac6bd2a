"""Monitors: property charts beside a machine, in production, in tests and over what was recorded."""
