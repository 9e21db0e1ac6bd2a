"""The differences of two charts as data; what they say in words is the caller's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rawko.chart.definition import Transition


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a chart or of a state that is another one.

    Attributes:
        name: As the chart's YAML calls it: "initial", "on entry", "invoke fetch: timeout".
        before, after: Elements of the charts; None where there was, or is, nothing.
    """

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class TransitionChange:
    """A transition that was added (`before` is None), removed (`after` is None) or changed.

    Attributes:
        parts: What of it has changed: "event", "guard", "target", "actions", "internal", "priority", "contract".
    """

    before: Transition | None
    after: Transition | None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reordered:
    """Transitions that can answer one event, and are tried in another order: the first whose guard holds is taken.

    Attributes:
        before, after: The same transitions, each in its chart's order.
    """

    before: tuple[Transition, ...]
    after: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """A state under another name, or in another place.

    Attributes:
        before, after: Its names, with the names of their parents; a parent that is the same has its name of now.
    """

    before: tuple[str, str | None]
    after: tuple[str, str | None]

    @property
    def is_renamed(self) -> bool:
        return self.before[0] != self.after[0]


@dataclass(frozen=True, slots=True)
class StateDifferences:
    """What differs in a state that both charts have.

    Attributes:
        name: In the newer chart.
    """

    name: str
    fields: tuple[Field, ...] = ()
    transitions: tuple[TransitionChange, ...] = ()
    reordered: tuple[Reordered, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fields or self.transitions or self.reordered)


@dataclass(frozen=True, slots=True)
class ChartDifferences:
    """What differs between two charts.

    Attributes:
        fields: Of the chart itself.
        added, removed: Names of states, in document order.
        moved: States that were renamed, or have another parent.
        states: What differs in states that both have, in the order of the newer chart.
        unreached, reached: States of both that no event leads to any more, and those that one leads to now.
        never_reached: Added states that no event leads to.
    """

    fields: tuple[Field, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()
    states: tuple[StateDifferences, ...] = field(default=())
    unreached: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    never_reached: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self._parts())

    def _parts(self) -> Iterator[tuple[Any, ...]]:
        yield from (self.fields, self.added, self.removed, self.moved, self.states, self.unreached, self.reached)
