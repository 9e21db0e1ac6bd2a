"""Monitors of an agent's run: the one that always watches, those that a project may add, and the guards they name."""
