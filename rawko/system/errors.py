"""The error for an event that is not possible in a system."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.errors import InterpreterError


class NotPossible(InterpreterError, ValueError):
    """The event is not possible in this system; the system is unchanged.

    Attributes:
        event: The event as it was given.
        reason: Why it is not possible, and what would be accepted.
    """

    def __init__(self, event: Any, reason: str) -> None:
        super().__init__(f"{event!r} cannot happen here: {reason}")
        self.event = event
        self.reason = reason
