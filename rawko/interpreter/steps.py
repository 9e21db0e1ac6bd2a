"""What a macrostep did: sismic's MacroStep and MicroStep, with the receipt, the updates and the effects as data."""

from __future__ import annotations

from enum import Enum
from typing import Any

from sismic.model import MacroStep, Transition
from sismic.model import MicroStep as SismicMicroStep

from rawko.interpreter.effects import Effect
from rawko.interpreter.updates import Update


class Receipt(Enum):
    """What became of an event."""

    TAKEN = "taken"
    DENIED = "denied by guard"
    NOT_HANDLED = "not handled in this state"
    UNKNOWN = "unknown event"
    FAILED = "failed, and error.execution was processed instead"
    DONE = "machine is done"

    @property
    def is_taken(self) -> bool:
        return self is Receipt.TAKEN


class MicroStep(SismicMicroStep):
    """One set of transitions taken together.

    Attributes:
        transitions: All of the set; `transition` is the first.
        event: The event that triggered it; None for eventless transitions.
    """

    __slots__ = ("transitions",)
    transitions: list[Transition]


class Step(MacroStep):
    """One macrostep, from one stable configuration to the next.

    Attributes:
        receipt: What became of the event; None where there was none (the start, eventless steps).
        updates: Changes of the context, in order, with frozen values.
        effects: What the runtime must do now, in order.
        following: Macrosteps that ran after this one within the same `send`, for events the machine sent itself.
        configuration: Active states at the end, by depth and name.
    """

    __slots__ = ("configuration", "effects", "following", "receipt", "updates")

    def __init__(
        self,
        time: float,
        steps: list[Any],
        receipt: Receipt | None = None,
        updates: tuple[Update, ...] = (),
        effects: tuple[Effect, ...] = (),
        configuration: tuple[str, ...] = (),
    ) -> None:
        self._time = time
        self._steps = steps
        self.receipt = receipt
        self.updates = updates
        self.effects = effects
        self.following: tuple[Step, ...] = ()
        self.configuration = configuration
