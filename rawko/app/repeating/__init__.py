"""Repeating a recorded run's task: what has changed since the run began or ended (C-12)."""

from rawko.app.repeating.differences import differences

__all__ = ["differences"]
