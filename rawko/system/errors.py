"""What cannot happen to a system as it is."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.errors import InterpreterError


class NotPossible(InterpreterError, ValueError):
    """The event cannot happen to this system; the system is as it was.

    Attributes:
        event: As it was given.
        reason: What speaks against it, and what would be accepted.
    """

    def __init__(self, event: Any, reason: str) -> None:
        super().__init__(f"{event!r} cannot happen here: {reason}")
        self.event = event
        self.reason = reason
