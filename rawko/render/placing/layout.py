"""Places for boxes and lines: the one interface between diagrams and the layout engine.

`lay_out` takes plain sizes and gives plain coordinates; which engine computes them, and what it must be told, is
known to `engine` alone. Coordinates are pixels, x to the right, y down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Direction = Literal["down", "right"]
Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rect:
    """An upright rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def centre(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2

    def moved(self, dx: float, dy: float) -> Rect:
        return Rect(self.x + dx, self.y + dy, self.width, self.height)


@dataclass(frozen=True, slots=True)
class Node:
    """Something to place. A node that others have as parent grows around them; its size is then the least.

    Attributes:
        is_first: Stands at the beginning of its container; the walk that tells forward from backward starts there.
        head: Room to keep free at the beginning of a container for its texts; None for a leaf.
        are_parts_beside: The parts of this container are laid beside each other.
        is_round: A circle; lines end on it and not on the square around it.
    """

    id: str
    width: float
    height: float
    parent: str | None = None
    is_first: bool = False
    head: tuple[float, float] | None = None
    are_parts_beside: bool = False
    is_round: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A line to draw between two nodes. Its label, if any, is given a place of its own on the line."""

    id: str
    source: str
    target: str
    label: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """A drawn line: from the source's border to the label, and on to the target's border.

    Attributes:
        parts: One polyline, or two with the label between them; all segments upright or level.
    """

    parts: tuple[tuple[Point, ...], ...]
    label: Rect | None = None


@dataclass(frozen=True)
class Layout:
    """Where everything stands. `heads` holds the room kept free for a container's texts."""

    boxes: Mapping[str, Rect]
    heads: Mapping[str, Rect]
    routes: Mapping[str, Route]
