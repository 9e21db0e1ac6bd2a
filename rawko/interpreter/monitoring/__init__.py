"""Monitors: property charts that check a machine, in production, in tests and over recorded runs."""
