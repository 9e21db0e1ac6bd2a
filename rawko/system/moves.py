"""What can happen to a system: an event from outside, a turn of one machine, time that passes, news of an actor.

`path` is a machine's: "root", "root/child", "root/child/grandchild".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rawko.interpreter.data.events import Event

ROOT = "root"


@dataclass(frozen=True, slots=True)
class External:
    """An event from outside for one machine. For the root, `rawko.Event` or a name alone will do."""

    event: str
    data: Mapping[str, Any] = field(default_factory=dict)
    path: str = ROOT


@dataclass(frozen=True, slots=True)
class Turn:
    """A machine goes on by one macrostep: with what waits for it first, or with a timer that is due.

    The first turn of a child machine is its start; the turn of one that has ended tells its end to its parent.
    """

    path: str = ROOT


@dataclass(frozen=True, slots=True)
class Until:
    """Time passes until then; seconds of the system's clock. What becomes due meanwhile is due, and nothing more."""

    time: float


@dataclass(frozen=True, slots=True)
class Completed:
    """An actor of the caller's has finished.

    Attributes:
        id: Of the invocation, of the machine at `path`.
        number: Of the invocation; None: whichever runs under that id.
    """

    id: str
    output: Any = None
    path: str = ROOT
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """An actor of the caller's has failed. `error`: a mapping with `message` and `category`, a text, an exception."""

    id: str
    error: Any
    path: str = ROOT
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Yielded:
    """An actor of the caller's, which goes on, has sent an event to the machine that invoked it."""

    id: str
    event: str
    data: Mapping[str, Any] = field(default_factory=dict)
    path: str = ROOT
    number: int | None = None


News: TypeAlias = Completed | Failed | Yielded
"""Of an actor of the caller's."""
Message: TypeAlias = str | Event | External | News
"""What can wait for a machine."""
Move: TypeAlias = Message | Turn | Until


def external_of(event: str | Event | External) -> External:
    """An event from outside, as what it stands for."""
    if isinstance(event, External):
        return event
    return External(event) if isinstance(event, str) else External(event.name, dict(event.data))
