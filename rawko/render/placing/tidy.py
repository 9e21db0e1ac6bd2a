"""Cleans polylines of the engine: removes points on a straight line, tiny steps, and spikes."""

from __future__ import annotations

from collections.abc import Sequence

from rawko.render.placing.layout import Point, Rect, Route

SMALL = 3.0
"""Sideways steps up to this length, in pixels, are removed; an end moves as far along its border."""


def tidied(points: Sequence[Point]) -> tuple[Point, ...]:
    """The same path with fewer corners; all segments are exactly vertical or horizontal.

    (0, 0) -> (50, 0) -> (50, 2) -> (90, 2)    becomes (0, 0) -> (90, 0): the step of 2 pixels is removed
    """
    way = straightened([(round(x, 1), round(y, 1)) for x, y in points])
    while True:
        step = next((place for place in range(len(way) - 1) if _is_step(way, place)), None)
        if step is None:
            return tuple(way)
        way = straightened(_without_step(way, step))


def straightened(points: Sequence[Point]) -> list[Point]:
    """The path without repeated points, points on a straight line, and spikes (there and back)."""
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


def _is_step(way: Sequence[Point], place: int) -> bool:
    """Whether the segment after this point is oblique, or a small step between two segments along the other axis."""
    (x1, y1), (x2, y2) = way[place], way[place + 1]
    dx, dy = abs(x2 - x1), abs(y2 - y1)
    if dx and dy:
        return True
    return 0 < place < len(way) - 2 and max(dx, dy) <= SMALL


def _without_step(way: Sequence[Point], place: int) -> list[Point]:
    """The path without this step: the following points up to the next turn are moved onto the line before the step."""
    (x1, y1), (x2, y2) = way[place], way[place + 1]
    dx, dy = abs(x2 - x1), abs(y2 - y1)
    axis = 0 if dx and (not dy or dx <= dy) else 1
    old, new = (x2, x1) if axis == 0 else (y2, y1)
    moved = list(way)
    for later in range(place + 1, len(way)):
        point = moved[later]
        if point[axis] != old:
            break
        moved[later] = (new, point[1]) if axis == 0 else (point[0], new)
    return moved


def closed(route: Route) -> Route:
    """A line from a box to itself in one piece: it turns beside its label instead of ending there.

    Example: a line that runs down to a label at (40, 60) and another that runs up from (54, 60) become one line with a
    horizontal segment between the two points; the label is below it.
    """
    label = route.label
    if label is None or len(route.parts) != 2:
        return route
    (x1, y1), (x2, y2) = route.parts[0][-1], route.parts[1][0]
    is_level = y1 == y2 and x1 != x2 and min(abs(y1 - label.y), abs(y1 - label.bottom)) < 1
    is_upright = x1 == x2 and y1 != y2 and min(abs(x1 - label.x), abs(x1 - label.right)) < 1
    if not (is_level or is_upright):
        return route
    return Route((tuple(straightened((*route.parts[0], *route.parts[1]))),), label)


def meeting_circle(part: Sequence[Point], circle: Rect, *, at_end: bool) -> tuple[Point, ...]:
    """A line that ends on the square around a circle, extended to the circle."""
    way = list(part) if at_end else list(part)[::-1]
    (x, y), (cx, cy), radius = way[-1], circle.centre, circle.width / 2
    is_level = way[-1][1] == way[-2][1]
    across = abs(y - cy) if is_level else abs(x - cx)
    reach = max(radius**2 - min(across, radius) ** 2, 0.0) ** 0.5
    if is_level:
        way[-1] = (cx + (reach if x > cx else -reach), y)
    else:
        way[-1] = (x, cy + (reach if y > cy else -reach))
    return tuple(way) if at_end else tuple(way[::-1])
