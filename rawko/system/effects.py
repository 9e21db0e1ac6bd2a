"""What a transition of a system gives beside the system: what its machines did, and what the caller must do, in order.

StepTaken(path, step)              a machine has taken a macrostep
Asked(path, effect)                ... in which it asks the caller for something
ChildStarted, ChildEnded           a machine was added to the tree, or left it
Undelivered                        a message that reached no machine
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rawko.interpreter.data.effects import EmitEvent, LogLine, SendTo, StartInvocation, StopInvocation
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.steps import Step
from rawko.interpreter.running.states import same_event


@dataclass(frozen=True, slots=True, eq=False)
class StepTaken:
    """A machine has taken a macrostep. Equal ones say the same of the same machine."""

    path: str
    step: Step

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StepTaken):
            return NotImplemented
        one, two = self.step, other.step
        return (
            self.path == other.path
            and (one.time, one.receipt, one.configuration) == (two.time, two.receipt, two.configuration)
            and _is_same(one.event, two.event)
            and (one.updates, one.effects) == (two.updates, two.effects)
            and [micro.indexes for micro in one.steps] == [micro.indexes for micro in two.steps]
        )

    def __hash__(self) -> int:
        return hash((self.path, self.step.time, self.step.receipt, self.step.configuration))


def _is_same(one: Event | None, other: Event | None) -> bool:
    return one is other or (one is not None and other is not None and same_event(one, other))


@dataclass(frozen=True, slots=True)
class Asked:
    """A machine asks the caller for something.

    Attributes:
        effect: `StartInvocation` of an actor that is no machine, and its `StopInvocation`; `EmitEvent`, `LogLine`;
            `SendTo` whoever is outside: the parent of the root, or an address of HTTP.
    """

    path: str
    effect: StartInvocation | StopInvocation | SendTo | EmitEvent | LogLine


@dataclass(frozen=True, slots=True)
class ChildStarted:
    """A child machine has been made; its first turn is its start."""

    path: str
    chart: str


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """A child machine has left the tree.

    Attributes:
        how: "done" and "failed" are told to its parent; "stopped" was the parent's doing.
        result: Its output, or its error.
    """

    path: str
    how: Literal["done", "failed", "stopped"]
    result: Any = None


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A message of the machine at `path` that reached nobody; it hears of it where its chart handles that."""

    path: str
    to: str
    event: str
    reason: str


SystemEffect: TypeAlias = StepTaken | Asked | ChildStarted | ChildEnded | Undelivered
