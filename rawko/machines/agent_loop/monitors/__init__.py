"""Monitors of an agent's run: the one that always runs, those that a project may add, and the guards for them."""
