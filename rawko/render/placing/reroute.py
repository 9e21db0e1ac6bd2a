"""Reroutes one line around all obstacles: an A* search on a grid of the coordinates beside obstacles.

Only for the few lines that moving a segment aside cannot repair; this module does not route a whole drawing.

    from (0, 0) to (100, 0) with a box from (40, -10) to (60, 30)
    grid: x = 11, 25, 31, 69, 75, 89 and y = -25, -19, 0, 39, 45 (9 and 15 pixels beside the box)
    cheapest path: up from (11, 0), along y = -19, down to (89, 0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

from rawko.render.placing.layout import Point, Rect

STUB = 11.0
"""Length of a line's first segment, perpendicular to the border where it begins."""

CLEAR = 9.0
"""Distance from an obstacle at which lines pass it."""

TRACK = 6.0
"""Distance of a second line that passes beside the first one."""

REACH = 260.0
MAX_LINES = 320
MOST_STEPS = 30_000
BEND_COST = 60.0

Cost = Callable[[Point, Point], float | None]
"""Cost of a straight segment in addition to its length; None if the segment is not possible."""


def find_way(part: Sequence[Point], obstacles: Iterable[Rect], cost: Cost) -> tuple[Point, ...] | None:
    """A polyline with the same ends and end directions as `part`; None if there is none."""
    start, end = _stub(part[0], part[1]), _stub(part[-1], part[-2])
    low = [min(start[axis], end[axis]) - REACH for axis in (0, 1)]
    high = [max(start[axis], end[axis]) + REACH for axis in (0, 1)]
    columns, rows = {start[0], end[0]}, {start[1], end[1]}
    for rect in obstacles:
        for clear in (CLEAR, CLEAR + TRACK):
            columns.update((rect.x - clear, rect.right + clear))
            rows.update((rect.y - clear, rect.bottom + clear))
    xs = sorted(x for x in columns if low[0] <= x <= high[0])
    ys = sorted(y for y in rows if low[1] <= y <= high[1])
    if len(xs) > MAX_LINES or len(ys) > MAX_LINES:
        return None
    way = _cheapest(xs, ys, start, end, cost)
    return None if way is None else (part[0], *way, part[-1])


def _stub(end: Point, towards: Point) -> Point:
    dx, dy = towards[0] - end[0], towards[1] - end[1]
    if dx:
        return end[0] + (STUB if dx > 0 else -STUB), end[1]
    return end[0], end[1] + (STUB if dy > 0 else -STUB)


def _cheapest(xs: Sequence[float], ys: Sequence[float], start: Point, end: Point, cost: Cost) -> list[Point] | None:
    """The A* search over (column, row, axis of the last segment); the estimate is the remaining distance."""

    def left(column: int, row: int) -> float:
        return abs(xs[column] - end[0]) + abs(ys[row] - end[1])

    first = (xs.index(start[0]), ys.index(start[1]))
    goal = (xs.index(end[0]), ys.index(end[1]))
    queue: list[tuple[float, tuple[int, int, int]]] = [(0.0, (*first, axis)) for axis in (0, 1)]
    spent = {place: 0.0 for _, place in queue}
    done: set[tuple[int, int, int]] = set()
    before: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    while queue and len(done) < MOST_STEPS:
        _, place = heappop(queue)
        if place in done:
            continue
        done.add(place)
        sofar = spent[place]
        column, row, axis = place
        if (column, row) == goal:
            return _traced(place, before, xs, ys)
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            i, j = column + dx, row + dy
            if not (0 <= i < len(xs) and 0 <= j < len(ys)):
                continue
            one, other = (xs[column], ys[row]), (xs[i], ys[j])
            extra = cost(one, other)
            if extra is None:
                continue
            turned = 1 if dy else 0
            total = sofar + abs(other[0] - one[0]) + abs(other[1] - one[1]) + extra + BEND_COST * (turned != axis)
            step = (i, j, turned)
            if total < spent.get(step, float("inf")):
                spent[step], before[step] = total, place
                heappush(queue, (total + left(i, j), step))
    return None


def _traced(
    place: tuple[int, int, int],
    before: dict[tuple[int, int, int], tuple[int, int, int]],
    xs: Sequence[float],
    ys: Sequence[float],
) -> list[Point]:
    way = [place]
    while place in before:
        place = before[place]
        way.append(place)
    return [(xs[column], ys[row]) for column, row, _ in reversed(way)]
