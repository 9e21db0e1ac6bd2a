"""The shapes that a card can be given: a container drawn narrow is high, and one drawn wide is low.

Which shape is best depends on what stands around the container. So every card offers a few, and its container
combines them; the drawing as a whole chooses one, and with it those of all cards inside.

Example: a card of 100 × 40 and a container of 300 × 50 or 160 × 90. In one column they fill 300 × 90 or 160 × 130,
beside each other 400 × 50 or 260 × 90 (gaps left out). Shapes that are both wider and higher than another are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import TypeVar

from rawko.render.rows.columns import Columns

ROW_GAP = 26.0
COLUMN_GAP = 34.0
WIDEST = 1460.0
"""Shapes wider than this, in pixels, are kept only where there is none that is narrower."""

MOST_SHAPES = 24
MOST_WIDTHS = 20
"""Widths of one column that are tried; they are spread evenly over those that its cards offer."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to lay out a card, in pixels.

    Attributes:
        cost: What it costs to follow, as pixels of height: lines that its columns leave no room for.
        columns: Those of a container's cards.
        inner: The shapes of these cards.
        face: Which form of the card's own texts, counted from the widest.
    """

    width: float
    height: float
    cost: float = 0.0
    columns: Columns = ()
    inner: Mapping[str, Shape] = field(default_factory=dict)
    face: int = 0

    @property
    def weight(self) -> float:
        return self.height + self.cost


Item = TypeVar("Item")
Offers = Mapping[str, Sequence[Shape]]


def combined(columns: Columns, offers: Offers, room: Mapping[str, float], cost: float, *, in_rows: bool) -> list[Shape]:
    """The shapes of a container's content for one choice of columns.

    Args:
        offers: The shapes of each card.
        room: Height to keep free above some cards.
        cost: Of the choice of columns itself.
        in_rows: Cards of the same place in their column have their tops at one height.
    """
    piles = [_piles(column, offers, room) for column in columns]
    levels = sorted({pile.weight for each in piles for pile in each})
    least = max(min(pile.weight for pile in each) for each in piles)
    found = []
    for level in (each for each in levels if each >= least):
        chosen = [min((pile for pile in each if pile.weight <= level), key=_width) for each in piles]
        inner = {name: shape for pile in chosen for name, shape in pile.inner.items()}
        width = fsum(pile.width for pile in chosen) + COLUMN_GAP * (len(columns) - 1)
        height = height_in_rows(columns, inner, room) if in_rows else max(pile.height for pile in chosen)
        found.append(Shape(width, height, cost + fsum(pile.cost for pile in chosen), columns, inner))
    return found


def best(shapes: Iterable[Shape]) -> tuple[Shape, ...]:
    """Those that no other is both narrower and lower than, from narrow to wide; at most `MOST_SHAPES`."""
    kept: list[Shape] = []
    for shape in sorted(shapes, key=lambda each: (each.width, each.weight)):
        if not kept or (shape.weight < kept[-1].weight and shape.width <= WIDEST):
            kept.append(shape)
    return tuple(_spread(kept, MOST_SHAPES))


def height_in_rows(columns: Columns, inner: Mapping[str, Shape], room: Mapping[str, float]) -> float:
    """The height of columns whose cards stand in rows."""
    return fsum(row_heights(columns, inner, room)) + ROW_GAP * (max(map(len, columns)) - 1)


def row_heights(columns: Columns, inner: Mapping[str, Shape], room: Mapping[str, float]) -> list[float]:
    """The height of each row of cards."""
    return [
        max(inner[column[row]].height + room[column[row]] for column in columns if row < len(column))
        for row in range(max(map(len, columns)))
    ]


def _piles(column: Sequence[str], offers: Offers, room: Mapping[str, float]) -> list[Shape]:
    """One column, from narrow to wide: its cards have the lowest shapes that the width has room for."""
    least = max(min(shape.width for shape in offers[name]) for name in column)
    widths = sorted({shape.width for name in column for shape in offers[name] if shape.width >= least})
    found = []
    for width in _spread(widths, MOST_WIDTHS):
        inner = {name: min((shape for shape in offers[name] if shape.width <= width), key=_weight) for name in column}
        height = fsum(shape.height + room[name] for name, shape in inner.items()) + ROW_GAP * (len(column) - 1)
        found.append(Shape(width, height, fsum(shape.cost for shape in inner.values()), (), inner))
    return found


def _width(shape: Shape) -> float:
    return shape.width


def _weight(shape: Shape) -> float:
    return shape.weight


def _spread(items: Sequence[Item], most: int) -> Sequence[Item]:
    """At most so many of the items, the first and the last among them."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]
