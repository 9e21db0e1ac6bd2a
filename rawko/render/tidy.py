"""Polylines without what an engine leaves behind: points on a straight line, steps too small to be meant, spikes."""

from __future__ import annotations

from collections.abc import Sequence

from rawko.render.layout import Point

SMALL = 6.0
"""A sideways step up to this length, in pixels, is taken out where the line's end may slide along its border."""


def tidied(points: Sequence[Point]) -> tuple[Point, ...]:
    """The same way with fewer corners; its ends move by at most `SMALL`, along the border that they stand on."""
    way = straightened([(round(x, 2), round(y, 2)) for x, y in points])
    return tuple(way)


def straightened(points: Sequence[Point]) -> list[Point]:
    """Without repeated points and points in the middle of a straight line, spikes (there and back) included."""
    way: list[Point] = []
    for point in points:
        if way and point == way[-1]:
            continue
        while len(way) >= 2 and _are_in_line(way[-2], way[-1], point):
            way.pop()
        if not way or point != way[-1]:
            way.append(point)
    return way


def _are_in_line(one: Point, two: Point, three: Point) -> bool:
    return one[0] == two[0] == three[0] or one[1] == two[1] == three[1]
