"""Checks of a run's files before their delivery: commands that must pass, and evidence for an agent's claim."""
