"""Doing a recorded run's task once more: what is not as it was when the run began or ended (C-12)."""

from rawko.app.repeating.differences import differences

__all__ = ["differences"]
