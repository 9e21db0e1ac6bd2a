"""Runs that are killed with kill -9 at exact and at random moments, and resumed."""
