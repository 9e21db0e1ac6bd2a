"""The outcome of an event, as its sender learns it."""

from __future__ import annotations

from enum import Enum


class Receipt(Enum):
    """The outcome of an event."""

    TAKEN = "taken"
    DENIED = "denied by guard"
    NOT_HANDLED = "not handled in this state"
    UNKNOWN = "unknown event"
    FAILED = "failed, and error.execution was processed instead"
    DONE = "machine is done"

    @property
    def is_taken(self) -> bool:
        return self is Receipt.TAKEN
