"""A diagram laid out with rows: cards, pills, lines and dots at their places, in pixels."""

from __future__ import annotations

from dataclasses import dataclass

from rawko.render.detail import Detail
from rawko.render.graph import Arrow, Box, Diagram
from rawko.render.placing.layout import Direction, Point, Rect
from rawko.render.rows.cards import Face, face_of
from rawko.render.rows.content import content_of
from rawko.render.rows.lines import Line, choose_lines
from rawko.render.rows.places import DOT_ROOM, Places, child_towards, place

CAPS = (330.0, 480.0, 640.0, 820.0, 1100.0)
"""Widths of inner containers that are tried; the drawing that reads best is kept."""

LIGHT = 400
"""States up to which several widths are tried."""


@dataclass(frozen=True, slots=True)
class Dot:
    """The mark of an initial state: a line to the card under it, or the names of cards deeper inside."""

    arrow: Arrow
    box: Box
    centre: Point
    end: Point | None
    names: tuple[Arrow, ...] = ()


@dataclass(frozen=True)
class RowDrawing:
    """The whole drawing; its upper left corner is (0, 0).

    Attributes:
        drawn: Ids of the arrows that are lines; the others are pills.
        note: A line under the drawing: what it leaves out, and how to get it.
    """

    diagram: Diagram
    width: float
    height: float
    faces: tuple[tuple[Face, Rect], ...]
    lines: tuple[Line, ...]
    dots: tuple[Dot, ...]
    drawn: frozenset[str]
    note: str = ""


def compose_rows(
    diagram: Diagram, *, detail: Detail = "guards", direction: Direction = "down", note: str = ""
) -> RowDrawing:
    """Give everything in a diagram its place, its transitions as rows."""
    content = content_of(diagram, detail)
    faces = {name: face_of(card, content) for name, card in content.cards.items()}
    caps = CAPS if len(faces) <= LIGHT and any(card.is_container for card in content.cards.values()) else CAPS[-1:]
    found: list[tuple[float, Places]] = []
    for cap in caps:
        tried = place(content, faces, cap=cap, direction=direction)
        width, height = tried.size
        found.append((max(0.0, width - 1400) * 30 + height + 0.35 * width + 25 * tried.lost, tried))
    places = min(found, key=lambda each: each[0])[1]
    lines = choose_lines(places)
    places.widen(lines.tracks)
    order = [faces[name] for name in content.cards]
    return RowDrawing(
        diagram,
        max(places.size[0], 420.0),
        places.size[1],
        tuple((face, places.rects[face.card.box.id]) for face in order),
        tuple(lines.lines()),
        tuple(_dots(places)),
        lines.drawn,
        note,
    )


def _dots(places: Places) -> list[Dot]:
    content = places.content
    found: list[Dot] = []
    for container, arrows in content.starts.items():
        first = arrows[0]
        child = child_towards(content, container, first.target)
        rect = places.rects[child]
        centre = rect.x + 26.0, rect.y - DOT_ROOM + 8
        end = (centre[0], rect.y) if child == first.target else None
        names = arrows[1:] if end else arrows
        found.append(Dot(first, content.diagram.by_id[first.source], centre, end, names))
    return found
