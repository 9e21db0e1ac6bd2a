"""Which targets are followed by a line, and the tracks that the lines run on; all other targets are named in a pill.

A line leaves its card at the height of its row, runs up or down a gutter, and ends at the side of its target; between
two cards that stand under each other it is one straight piece. Lines into one card share their track.

The rule: no line between a card and what stands in it, over more than one border, over a column, or through a card;
one line into each card where there is any (fewest borders, no error, shortest first); further ones where they are
short, at most three into one card. A final state that four states or more lead to gets none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from rawko.render.graph import Arrow
from rawko.render.placing.layout import Point
from rawko.render.rows.cards import Cell
from rawko.render.rows.places import TRACK, Gutter, Places, meeting, path

Side = Literal["left", "right"]
MOST_LINES = 3
SHORT = 420.0
"""Longest further line into a card, in pixels up or down."""

ENTRY = 17.0
"""How far under a card's top the first line enters it; further ones enter a little lower."""

APART = 5.0
STRAIGHT_APART = 9.0
MOST_COMPARED = 60
"""Lines of one gutter up to which crossings are counted."""


@dataclass(frozen=True)
class Line:
    arrow: Arrow
    parts: tuple[tuple[Point, ...], ...]


@dataclass(frozen=True, slots=True)
class Way:
    """How a line would run: straight where it has no gutter."""

    arrow: Arrow
    cells: tuple[Cell, ...]
    gutter: Gutter | None
    leaves: Side = "right"
    enters: Side = "left"
    borders: int = 0
    length: float = 0.0
    is_back: bool = False


@dataclass
class _Net:
    """The lines into one card from one gutter."""

    entry: float
    low: float
    high: float
    track: int = 0
    enters_left: bool = True
    rows: list[tuple[float, Side]] = field(default_factory=list)


@dataclass
class Lines:
    """The lines of a drawing. `tracks` counts those of each gutter."""

    places: Places
    chosen: list[Way] = field(default_factory=list)
    tracks: Counter[Gutter] = field(default_factory=Counter)
    nets: dict[tuple[Gutter, str, Side], _Net] = field(default_factory=dict)

    @property
    def drawn(self) -> frozenset[str]:
        return frozenset(way.arrow.id for way in self.chosen)

    def lines(self) -> list[Line]:
        """The lines at their places; `Places.widen` comes before."""
        return [Line(way.arrow, tuple(self._parts(way))) for way in self.chosen]

    def _parts(self, way: Way) -> Iterable[tuple[Point, ...]]:
        rects = self.places.rects
        source, target = rects[way.arrow.source], rects[way.arrow.target]
        if way.gutter is None:
            low, high = max(source.x, target.x), min(source.right, target.right)
            x = (low + high) / 2 + (STRAIGHT_APART if way.is_back else -STRAIGHT_APART)
            down = source.y < target.y
            yield (x, source.bottom if down else source.y), (x, target.y if down else target.bottom)
            return
        net = self.nets[way.gutter, way.arrow.target, way.enters]
        start, width = self.places.gutters[way.gutter]
        count = self.tracks[way.gutter]
        number = count - 1 - net.track if way.gutter[1] == 0 else net.track
        track = start + (width - (count - 1) * TRACK) / 2 + number * TRACK
        x1 = source.right if way.leaves == "right" else source.x
        x2 = target.right if way.enters == "right" else target.x
        for y in sorted({source.y + cell.middle for cell in way.cells}):
            yield (x1, y), (track, y), (track, net.entry), (x2, net.entry)


def choose_lines(places: Places) -> Lines:
    """Choose lines for placed cards whose heights are known."""
    found = Lines(places)
    ways = [way for way in _ways(places) if way is not None]
    ways.sort(key=lambda way: (way.borders, way.arrow.is_error, way.length))
    into: Counter[str] = Counter()
    backs: Counter[str] = Counter()
    used = _Heights(places, ways)
    rest: list[Way] = []
    for way in ways:
        target = way.arrow.target
        if into[target] and way.gutter is not None:
            rest.append(way)
        elif used.takes(way, found):
            into[target] += 1
            backs[target] += way.is_back
    for way in sorted(rest, key=lambda each: each.length):
        target = way.arrow.target
        is_near = way.length <= SHORT or (way.is_back and not backs[target] and way.length <= 4 * SHORT)
        if into[target] < MOST_LINES and is_near and used.takes(way, found):
            into[target] += 1
            backs[target] += way.is_back
    _give_tracks(found)
    order = {arrow.id: number for number, arrow in enumerate(places.content.diagram.arrows)}
    found.chosen.sort(key=lambda way: order[way.arrow.id])
    return found


class _Heights:
    """Heights at which pieces of lines run level in each gutter: those from its two sides must not meet."""

    def __init__(self, places: Places, ways: Iterable[Way]) -> None:
        self._used: dict[tuple[Gutter, Side], list[float]] = {}
        self._wanted: dict[tuple[Gutter, Side], list[float]] = {}
        for way in ways:
            if way.gutter is not None:
                start: Side = "left" if way.leaves == "right" else "right"
                rows = [places.top[way.arrow.source] + cell.middle for cell in way.cells]
                self._wanted.setdefault((way.gutter, start), []).extend(rows)

    def takes(self, way: Way, found: Lines) -> bool:
        """Add a line if it has room."""
        if way.gutter is None:
            found.chosen.append(way)
            return True
        places = found.places
        source, target = way.arrow.source, way.arrow.target
        # In a gutter, what leaves a card to the right comes from the gutter's left.
        start: Side = "left" if way.leaves == "right" else "right"
        end: Side = "left" if way.enters == "right" else "right"
        rows = [places.top[source] + cell.middle for cell in way.cells]
        if not all(self._is_free(way.gutter, start, y) for y in rows):
            return False
        key = way.gutter, target, way.enters
        net = found.nets.get(key)
        if net is None:
            known = sum(one == target and side == way.enters for _, one, side in found.nets) if target else 0
            room = int((places.height[target] - ENTRY - 6) // APART)
            choices = [places.top[target] + ENTRY + APART * number for number in range(2 * known, max(room, 1))]
            start_wanted = self._wanted.get((way.gutter, "right" if end == "left" else "left"), ())
            choices.sort(key=lambda y: any(abs(y - each) < APART for each in start_wanted))
            entry = next(
                (
                    y
                    for y in choices
                    if self._is_free(way.gutter, end, y)
                    and (start == end or all(abs(y - row) >= APART or y == row for row in rows))
                ),
                None,
            )
            if entry is None or (known and known > 2):
                return False
            net = _Net(entry, min(entry, *rows), max(entry, *rows))
            if not _is_free_inside(places, target, way.enters, way.gutter, entry):
                return False
            found.nets[key] = net
            self._used.setdefault((way.gutter, end), []).append(entry)
        elif any(0 < abs(net.entry - row) < APART for row in rows):
            return False
        net.low, net.high = min(net.low, *rows), max(net.high, *rows)
        net.rows.extend((row, start) for row in rows)
        self._used.setdefault((way.gutter, start), []).extend(rows)
        found.chosen.append(way)
        return True

    def _is_free(self, gutter: Gutter, side: Side, y: float) -> bool:
        other: Side = "right" if side == "left" else "left"
        return all(abs(y - each) >= APART for each in self._used.get((gutter, other), ()))


def _give_tracks(found: Lines) -> None:
    """Tracks for the nets of each gutter, by length or its reverse: whichever has fewer crossings."""
    by_gutter: dict[Gutter, list[_Net]] = {}
    for (gutter, _, side), net in found.nets.items():
        net.enters_left = side == "left"
        by_gutter.setdefault(gutter, []).append(net)
    for gutter, nets in by_gutter.items():
        nets.sort(key=lambda net: (net.high - net.low, net.low))
        tried: list[tuple[int, list[int]]] = []
        for order in (nets, nets[::-1]):
            _fill_tracks(order)
            tried.append((_crossings(nets, is_mirrored=gutter[1] == 0), [net.track for net in nets]))
        for net, track in zip(nets, min(tried, key=lambda each: each[0])[1], strict=True):
            net.track = track
        found.tracks[gutter] = 1 + max(net.track for net in nets)


def _fill_tracks(nets: Sequence[_Net]) -> None:
    """Give each net the first track on which it meets no other."""
    taken: list[list[tuple[float, float]]] = []
    for net in nets:
        track = 0
        while track < len(taken) and any(net.low - 8 < high and low < net.high + 8 for low, high in taken[track]):
            track += 1
        if track == len(taken):
            taken.append([])
        taken[track].append((net.low, net.high))
        net.track = track


def _crossings(nets: Sequence[_Net], *, is_mirrored: bool) -> int:
    """How many level pieces cross an upright one of another net."""
    if len(nets) > MOST_COMPARED:
        return 0
    count = 0
    for net in nets:
        for y, side in [(net.entry, "right" if net.enters_left else "left"), *net.rows]:
            for other in nets:
                lies_right = (other.track > net.track) != is_mirrored
                if other.track != net.track and other.low < y < other.high and lies_right == (side == "right"):
                    count += 1
    return count


def _ways(places: Places) -> Iterable[Way | None]:
    cells: dict[str, list[Cell]] = {}
    for face in places.faces.values():
        for cell in face.cells:
            cells.setdefault(cell.goal.arrow.id, []).append(cell)
    for arrow in places.content.diagram.arrows:
        if arrow.id in cells and not places.content.cards[arrow.target].sources:
            yield _way(places, arrow, tuple(cells[arrow.id]))


def _way(places: Places, arrow: Arrow, cells: tuple[Cell, ...]) -> Way | None:
    content = places.content
    split = meeting(content, arrow.source, arrow.target)
    if split is None:
        return None
    container, one, other = split
    around = 0 if container is None else len(path(content, container))
    borders = len(path(content, arrow.source)) + len(path(content, arrow.target)) - 2 * around - 2
    if borders > 1:
        return None
    (i, row), (j, place) = places.spot[one], places.spot[other]
    is_back = (j, place) < (i, row)
    if i == j and borders == 0 and abs(row - place) == 1:
        return Way(arrow, cells, None, is_back=is_back)
    if abs(i - j) > 1:
        return None
    sides: tuple[Side, Side, int]
    if i == j:
        sides = ("left", "left", i) if is_back else ("right", "right", i + 1)
    else:
        sides = ("right", "left", j) if i < j else ("left", "right", i)
    leaves, enters, number = sides
    heights = [places.top[arrow.source] + cell.middle for cell in cells]
    gutter = container, number
    if not all(_is_free_inside(places, arrow.source, leaves, gutter, y) for y in heights):
        return None
    length = max(abs(y - places.top[arrow.target] - ENTRY) for y in heights)
    return Way(arrow, cells, gutter, leaves, enters, borders, length, is_back)


def _is_free_inside(places: Places, name: str, side: Side, gutter: Gutter, y: float) -> bool:
    """Whether a level line from a card to a gutter around it meets no other card on its way."""
    parents = places.content.parents
    while parents[name] != gutter[0]:
        parent = parents[name]
        number, _ = places.spot[name]
        columns = places.columns[parent]
        beside = columns[:number] if side == "left" else columns[number + 1 :]
        if any(_meets(places, column, y) for column in beside):
            return False
        assert parent is not None
        name = parent
    return True


def _meets(places: Places, column: tuple[str, ...], y: float) -> bool:
    place = bisect_right(column, y, key=lambda name: places.top[name] - 4) - 1
    return place >= 0 and y <= places.top[column[place]] + places.height[column[place]] + 4


def corners(line: Line) -> Iterable[tuple[Point, Point]]:
    """The straight pieces of a line."""
    for part in line.parts:
        yield from pairwise(part)
