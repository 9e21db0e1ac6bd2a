"""Puts the regions of a parallel state into the order of the chart, aligned at their beginnings.

The engine chooses another order and aligns the regions at their centres. Regions that no line leaves or enters can
be moved as a whole, together with the lines inside them.

Example: the engine draws `b`, 80 high, left of `a`, 200 high, both centred at 100. `a` is moved to the left end and
`b` to the right of `a`, both with their tops at 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from rawko.render.placing.layout import Direction, Layout, Link, Node, Point, Rect, Route
from rawko.render.placing.order import Tree


def regions_in_order(layout: Layout, nodes: Sequence[Node], links: Sequence[Link], direction: Direction) -> Layout:
    """The same layout with moved regions; regions of a state stay if a line leaves or enters one of them.

    Args:
        direction: "down": the regions are beside each other; "right": they are below each other.
    """
    tree = Tree(nodes)
    is_round = {node.id: node.is_round for node in nodes}
    for node in reversed(nodes):
        if node.are_parts_beside:
            parts = [child for child in tree.children.get(node.id, ()) if not is_round[child]]
            if len(parts) > 1:
                layout = _Regions(layout, tree, links, parts).placed(direction)
    return layout


class _Regions:
    def __init__(self, layout: Layout, tree: Tree, links: Sequence[Link], parts: Sequence[str]) -> None:
        self._layout, self._tree, self._parts = layout, tree, parts
        self._inside = {part: frozenset(_subtree(tree, part)) for part in parts}
        homes = {name: part for part, names in self._inside.items() for name in names}
        self._homes = {
            link.id: homes.get(link.source) if homes.get(link.source) == homes.get(link.target) else None
            for link in links
        }
        self._open = {
            homes[end]
            for link in links
            for end in (link.source, link.target)
            if end in homes and not self._homes[link.id]
        }

    def placed(self, direction: Direction) -> Layout:
        boxes = self._layout.boxes
        if self._open or self._is_crossed():
            return self._layout
        old = sorted((boxes[part] for part in self._parts), key=lambda rect: rect.x if direction == "down" else rect.y)
        rects = [boxes[part] for part in self._parts]
        x, y = min(rect.x for rect in rects), min(rect.y for rect in rects)
        moves: dict[str, Point] = {}
        gaps = [_gap(one, other, direction) for one, other in pairwise(old)]
        for part, rect, gap in zip(self._parts, rects, (*gaps, 0.0), strict=True):
            moves[part] = (x - rect.x, y - rect.y)
            if direction == "down":
                x += rect.width + gap
            else:
                y += rect.height + gap
        return self._moved(moves)

    def _is_crossed(self) -> bool:
        """Whether a line from elsewhere crosses the area of the regions."""
        rects = [self._layout.boxes[part] for part in self._parts]
        left, top = min(rect.x for rect in rects), min(rect.y for rect in rects)
        right, bottom = max(rect.right for rect in rects), max(rect.bottom for rect in rects)
        strangers = (route for name, route in self._layout.routes.items() if self._homes.get(name) is None)
        return any(
            max(x1, x2) > left and min(x1, x2) < right and max(y1, y2) > top and min(y1, y2) < bottom
            for route in strangers
            for part in route.parts
            for (x1, y1), (x2, y2) in pairwise(part)
        )

    def _moved(self, moves: Mapping[str, Point]) -> Layout:
        layout = self._layout
        by_box = {name: moves[part] for part, names in self._inside.items() for name in names}
        routes = {name: _moved(route, moves.get(self._homes.get(name) or "")) for name, route in layout.routes.items()}
        return Layout(_shifted(layout.boxes, by_box), _shifted(layout.heads, by_box), routes)


def _subtree(tree: Tree, name: str) -> Iterable[str]:
    waiting = [name]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += tree.children.get(found, ())


def _gap(one: Rect, other: Rect, direction: Direction) -> float:
    return other.x - one.right if direction == "down" else other.y - one.bottom


def _shifted(rects: Mapping[str, Rect], moves: Mapping[str, Point]) -> dict[str, Rect]:
    return {name: rect.moved(*moves[name]) if name in moves else rect for name, rect in rects.items()}


def _moved(route: Route, by: Point | None) -> Route:
    if by is None:
        return route
    dx, dy = by
    parts = tuple(tuple((round(x + dx, 1), round(y + dy, 1)) for x, y in part) for part in route.parts)
    return replace(route, parts=parts, label=route.label and route.label.moved(dx, dy))
