"""What the runtime must do after a macrostep, as data. The interpreter itself does nothing.

Effects stand in `Step.effects` in the order in which they are to be carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class StartInvocation:
    """Start the actor `src`. Results carry `number`; an older number's results are dropped.

    Attributes:
        state: The state that invokes; None for a spawned actor.
        attempt: 1 at first, one more after each restart by a restored snapshot.
        policy: What a restore does with it (see `Invoke.on_restore`).
    """

    id: str
    src: str
    input: Any
    number: int
    attempt: int = 1
    state: str | None = None
    policy: str = "restart"
    is_resumed: bool = False


@dataclass(frozen=True, slots=True)
class StopInvocation:
    """Stop the actor; nothing of it will be heard any more."""

    id: str
    number: int


@dataclass(frozen=True, slots=True)
class SendTo:
    """Deliver an event to the parent ("parent") or to the actor with that id."""

    to: str
    event: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EmitEvent:
    """Tell observers."""

    event: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogLine:
    """Write to the structured log."""

    message: str
    level: str
    data: Mapping[str, Any]


Effect: TypeAlias = StartInvocation | StopInvocation | SendTo | EmitEvent | LogLine
