"""Where the cards stand: columns inside columns, with gutters between them that lines run through.

Heights do not depend on how wide a gutter is. So the lines are chosen and given their tracks first, and the gutters
are then made as wide as their tracks need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rawko.render.graph import Arrow
from rawko.render.placing.layout import Direction, Rect
from rawko.render.rows.cards import Face
from rawko.render.rows.columns import Columns, Siblings, ways_to_place
from rawko.render.rows.content import Content

READABLE = 1440.0
"""Width up to which the smallest text, 11 pixels, has at least 9 where a page is 1 200 pixels wide."""

MARGIN = 16.0
INSET = 13.0
ROW_GAP = 26.0
COLUMN_GAP = 34.0
TRACK = 9.0
DOT_ROOM = 30.0
LEGEND = 30.0

Gutter = tuple[str | None, int]
"""A container and the number of the column that the gutter stands before; the last one stands behind all."""


@dataclass
class Places:
    """Places of all cards.

    Attributes:
        columns: By container.
        spot: Column of each card in its container, and its number there.
        top: Of each card, in pixels from the top of the drawing.
        height: Of each card with all that stands in it.
        rects: Known after `widen`.
        gutters: Left end and width of each gutter, known after `widen`.
    """

    content: Content
    faces: Mapping[str, Face]
    columns: dict[str | None, Columns] = field(default_factory=dict)
    spot: dict[str, tuple[int, int]] = field(default_factory=dict)
    offset: dict[str, float] = field(default_factory=dict)
    top: dict[str, float] = field(default_factory=dict)
    height: dict[str, float] = field(default_factory=dict)
    width: dict[str, float] = field(default_factory=dict)
    rects: dict[str, Rect] = field(default_factory=dict)
    gutters: dict[Gutter, tuple[float, float]] = field(default_factory=dict)
    size: tuple[float, float] = (0.0, 0.0)
    lost: int = 0

    def widen(self, tracks: Mapping[Gutter, int]) -> None:
        """Give every card its rectangle, with room for so many tracks in each gutter."""
        wide: dict[Gutter, float] = {}
        inner: dict[str | None, list[float]] = {}
        order = [None, *self.content.cards]
        for name in reversed(order):
            columns = self.columns.get(name)
            if columns is None:
                assert name is not None
                self.width[name] = self.faces[name].width
                continue
            widths = [max(self.width[child] for child in column) for column in columns]
            for number in range(len(columns) + 1):
                is_edge = number in (0, len(columns))
                least = (0.0 if is_edge else COLUMN_GAP) if name is None else (INSET if is_edge else COLUMN_GAP)
                count = tracks.get((name, number), 0)
                needed = (count - 1) * TRACK + 30 if count else 0.0
                wide[name, number] = max(least, needed)
            inner[name] = widths
            whole = sum(widths) + sum(wide[name, number] for number in range(len(columns) + 1))
            if name is not None:
                self.width[name] = max(whole, self.faces[name].width)
            else:
                self.size = (whole + 2 * MARGIN, self.size[1])
        for name in order:
            columns = self.columns.get(name)
            if columns is None:
                continue
            rect = Rect(MARGIN, MARGIN, self.size[0] - 2 * MARGIN, 0) if name is None else self.rects[name]
            x = rect.x
            spare = rect.width - sum(inner[name]) - sum(wide[name, number] for number in range(len(columns) + 1))
            for number, column in enumerate(columns):
                self.gutters[name, number] = (x, wide[name, number])
                x += wide[name, number]
                across = inner[name][number] + spare / len(columns)
                for child in column:
                    narrow = self.faces[child].is_end
                    own = min(max(self.width[child], 100.0), across) if narrow else across
                    self.rects[child] = Rect(x + (across - own) / 2, self.top[child], own, self.height[child])
                x += across
            self.gutters[name, len(columns)] = (x, wide[name, len(columns)])


def place(content: Content, faces: Mapping[str, Face], *, cap: float, direction: Direction = "down") -> Places:
    """Columns for every container, and heights for every card.

    Args:
        cap: Width that a container inside another one should not exceed, in pixels.
    """
    places = Places(content, faces)
    lifted, ways = _lifted(content)
    sizes: dict[str | None, tuple[float, float]] = {}
    for name in reversed([None, *content.cards]):
        children = content.children.get(name, ()) if name is None or content.cards[name].is_container else ()
        if not children:
            assert name is not None
            face = faces[name]
            sizes[name] = (face.width, face.head)
            places.height[name] = face.head
            continue
        group = _siblings(name, content, lifted.get(name, {}), {child: sizes[child][1] for child in children})
        limit = cap if name is not None else READABLE - 2 * MARGIN
        sizes[name] = _choose(places, name, group, ways.get(name, ()), sizes, limit, direction)
        if name is not None:
            head = faces[name].head
            width, height = sizes[name]
            sizes[name] = (max(width + 2 * INSET, faces[name].width), head + height + INSET)
            places.height[name] = sizes[name][1]
    places.size = (sizes[None][0] + 2 * MARGIN, sizes[None][1] + 2 * MARGIN + LEGEND)
    for name in [None, *content.cards]:
        base = MARGIN if name is None else places.top[name] + faces[name].head
        for child in (each for column in places.columns.get(name, ()) for each in column):
            places.top[child] = base + places.offset[child]
    return places


def _choose(
    places: Places,
    name: str | None,
    group: Siblings,
    ways: tuple[Arrow, ...] | list[Arrow],
    sizes: Mapping[str | None, tuple[float, float]],
    limit: float,
    direction: Direction,
) -> tuple[float, float]:
    """Try columns for one container and keep the best; its content's width and height."""
    best: tuple[float, Columns, dict[str, float], float, float, int] | None = None
    dotted = _dotted(places.content, name)
    for columns in ways_to_place(group, direction):
        offsets, height = _stacked(columns, group, sizes, dotted)
        width = sum(max(sizes[each][0] for each in column) for column in columns) + COLUMN_GAP * (len(columns) - 1)
        where = {each: number for number, column in enumerate(columns) for each in column}
        lost = sum(abs(where[one] - where[other]) > 1 for one, other in group.edges)
        over = max(0.0, width - limit) if len(columns) > 1 else 0.0
        score = over * 30 + height + 0.35 * width + 25 * lost
        if best is None or score < best[0]:
            best = (score, columns, offsets, width, height, lost)
    assert best is not None
    _, columns, offsets, width, height, lost = best
    places.columns[name] = columns
    places.lost += lost
    places.offset |= offsets
    for number, column in enumerate(columns):
        places.spot |= {child: (number, row) for row, child in enumerate(column)}
    return width, height


def _dotted(content: Content, name: str | None) -> frozenset[str]:
    """The cards of a container that its dot stands above."""
    starts = content.starts.get(name, ())
    return frozenset(child_towards(content, name, arrow.target) for arrow in starts[:1])


def _stacked(
    columns: Columns,
    group: Siblings,
    sizes: Mapping[str | None, tuple[float, float]],
    dotted: frozenset[str],
) -> tuple[dict[str, float], float]:
    """Tops of the cards, those beside the main way at the height of what leads to them where there is room."""
    room = {name: DOT_ROOM if name in dotted else 0.0 for column in columns for name in column}
    sums = [sum(sizes[name][1] + room[name] for name in column) + ROW_GAP * (len(column) - 1) for column in columns]
    highest = max(sums)
    base = sums.index(highest)
    offsets: dict[str, float] = {}
    for number in sorted(range(len(columns)), key=lambda each: (each != base, abs(each - base))):
        column = columns[number]
        free, y = highest - sums[number], 0.0
        for name in column:
            y += room[name]
            wanted = y
            if number != base and not group.is_parallel:
                anchors = [offsets[one] for one, other in group.edges if other == name and one in offsets]
                if len(group.names) <= 300 and anchors and name not in group.common:
                    wanted = max(y, min(anchors))
            move = min(wanted - y, free)
            free -= move
            y += move
            offsets[name] = y
            y += sizes[name][1] + ROW_GAP
    return offsets, highest


def _siblings(
    name: str | None, content: Content, edges: Mapping[tuple[str, str], bool], heights: Mapping[str, float]
) -> Siblings:
    children = content.children[name]
    cards = content.cards
    starts = tuple(dict.fromkeys(child_towards(content, name, arrow.target) for arrow in content.starts.get(name, ())))
    return Siblings(
        children,
        edges,
        starts,
        heights,
        frozenset(child for child in children if cards[child].box.kind == "final"),
        frozenset(child for child in children if cards[child].sources),
        next((child for child in children if cards[child].is_shared), None),
        name is not None and cards[name].box.kind == "parallel",
    )


def child_towards(content: Content, container: str | None, name: str) -> str:
    """The card directly inside a container that holds another card, or is it."""
    while content.parents[name] != container:
        parent = content.parents[name]
        assert parent is not None
        name = parent
    return name


def _lifted(
    content: Content,
) -> tuple[dict[str | None, dict[tuple[str, str], bool]], dict[str | None, list[Arrow]]]:
    """By container: which of its cards lead to which, and the arrows that say so."""
    edges: dict[str | None, dict[tuple[str, str], bool]] = {}
    ways: dict[str | None, list[Arrow]] = {}
    for arrow in content.diagram.arrows:
        if arrow.kind != "transition" or arrow.source == arrow.target or content.cards[arrow.target].sources:
            continue
        split = meeting(content, arrow.source, arrow.target)
        if split is None:
            continue
        container, one, other = split
        found = edges.setdefault(container, {})
        found[one, other] = found.get((one, other), True) and arrow.is_error
        ways.setdefault(container, []).append(arrow)
    return edges, ways


def meeting(content: Content, one: str, other: str) -> tuple[str | None, str, str] | None:
    """The innermost container of two cards, and the cards directly inside it that hold them; None for a card and
    what stands in it."""
    first, second = path(content, one), path(content, other)
    for number, (left, right) in enumerate(zip(first, second, strict=False)):
        if left != right:
            return (first[number - 1] if number else None), left, right
    return None


def path(content: Content, name: str) -> list[str]:
    """The cards around a card from the outermost inwards, and the card itself."""
    found = [name]
    parent = content.parents[name]
    while parent is not None:
        found.append(parent)
        parent = content.parents[parent]
    return found[::-1]
