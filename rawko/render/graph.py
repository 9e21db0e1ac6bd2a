"""What a diagram shows, before it has a place or a format: boxes, arrows, and the texts on them.

Every writer (SVG, DOT, PlantUML) reads this; where things stand is `layout`, how they look is the writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from rawko.chart.comparing.joining import Change

BoxKind = Literal["atomic", "compound", "parallel", "final", "shallow history", "deep history", "initial"]
ArrowKind = Literal["transition", "initial", "default"]
SIGNS: Final[Mapping[Change, str]] = {"added": "+", "removed": "−", "changed": "~"}
"""No colour stands alone: what differs between two charts has a sign, too."""


def signed(change: Change | None, text: str) -> str:
    """A text behind the sign of what has become of it."""
    return text if change is None else f"{SIGNS[change]} {text}".rstrip()


@dataclass(frozen=True, slots=True)
class Entry:
    """One transition as a text, on an arrow or as a row of its state.

    Attributes:
        transition: Its index in the chart; None for what is no transition (an entry action, an invocation).
        event: The event's words; "" where a guard or an action says all.
        guard: The guard without brackets, or "".
        actions: The actions, cut to a count where they are many, or "".
        tooltip: All of it, uncut.
        inner: The state that the transition leaves, where a box around it stands for it; else "".
        change: What two charts differ in, where they are drawn as one; its sign begins the event.
    """

    event: str = ""
    guard: str = ""
    actions: str = ""
    transition: int | None = None
    is_taken: bool = False
    tooltip: str = ""
    inner: str = ""
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """One state, or the dot before an initial state.

    Attributes:
        id: `s<order>` of the state, `i<order>` for the dot inside that state.
        state: Name of the state; of the state that it stands in, for a dot.
        hidden: States inside that are not drawn; the box is then drawn as a leaf.
        is_region: A child of a parallel state.
        change: As that of an entry.
    """

    id: str
    state: str
    kind: BoxKind
    parent: str | None = None
    title: str = ""
    rows: tuple[Entry, ...] = ()
    hidden: int = 0
    is_region: bool = False
    is_active: bool = False
    tooltip: str = ""
    change: Change | None = None

    @property
    def head(self) -> str:
        """The title in its own box: with the sign of what differs."""
        return signed(self.change, self.title)


@dataclass(frozen=True, slots=True)
class Arrow:
    """One line: every transition between the same two boxes in the same way, in document order.

    Attributes:
        id: `t<index>` of its first transition, with `-<k>` for further targets; `d<order>` for defaults.
        is_error: Its events tell of an error.
    """

    id: str
    source: str
    target: str
    entries: tuple[Entry, ...] = ()
    kind: ArrowKind = "transition"
    is_error: bool = False

    @property
    def is_taken(self) -> bool:
        return any(entry.is_taken for entry in self.entries)

    @property
    def change(self) -> Change | None:
        """That of all its transitions; "changed" where they differ in it."""
        found = {entry.change for entry in self.entries}
        return "changed" if len(found) > 1 else next(iter(found), None)


@dataclass(frozen=True)
class Diagram:
    """A whole diagram. Boxes are in document order, parents before their children."""

    name: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    description: str = ""

    @cached_property
    def by_id(self) -> Mapping[str, Box]:
        return {box.id: box for box in self.boxes}

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What two charts differ in; none for the drawing of one."""
        entries = [entry for box in self.boxes for entry in box.rows] + [e for a in self.arrows for e in a.entries]
        found = {box.change for box in self.boxes} | {entry.change for entry in entries}
        return tuple(change for change in SIGNS if change in found)

    @cached_property
    def children(self) -> Mapping[str | None, tuple[Box, ...]]:
        """Boxes by the id of the box that they stand in; None for the outermost."""
        found: dict[str | None, list[Box]] = {}
        for box in self.boxes:
            found.setdefault(box.parent, []).append(box)
        return {parent: tuple(boxes) for parent, boxes in found.items()}
