"""Drawings with few or no lines, for charts with too many lines to follow: other transitions are rows of their source.

`few_lines` keeps the first line that leads to each state; these lines form a tree. `no_lines` keeps none, and `pack`
places the boxes without a layout engine, in time proportional to their number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import fsum, sqrt

from rawko.render.graph import Arrow, Box, Diagram, Entry
from rawko.render.placing.engine import CONTAINER_PADDING, NODE_GAP
from rawko.render.placing.layout import Direction, Layout, Link, Node, Rect

SHAPE = 1.5
"""Approximate width of a container's contents divided by their height."""

NOTE = "Transitions that are drawn as no line stand in the box of their source, with an arrow and their target."


def few_lines(diagram: Diagram) -> Diagram:
    """The same diagram with only the lines that reach a box first, in a walk from the initial states."""
    return _with_rows(diagram, set(_tree(diagram)))


def no_lines(diagram: Diagram) -> Diagram:
    """The same diagram without lines. Initial dots become rows, and history states become boxes with rows."""
    drawn = _with_rows(diagram, ())
    boxes = tuple(_plain(box) for box in drawn.boxes if box.kind != "initial")
    return replace(drawn, boxes=boxes)


def _tree(diagram: Diagram) -> Iterator[str]:
    """Ids of the lines that reach a box first, each between two boxes of one container."""
    by_id = diagram.by_id
    leaving: dict[str, list[Arrow]] = {}
    for arrow in diagram.arrows:
        if by_id[arrow.source].parent == by_id[arrow.target].parent and arrow.source != arrow.target:
            leaving.setdefault(arrow.source, []).append(arrow)
    reached: set[str] = set()
    starts = [box.id for box in diagram.boxes if box.kind == "initial"]
    for start in chain(starts, (box.id for box in diagram.boxes if box.kind != "initial")):
        queue = [] if start in reached else [start]
        reached.add(start)
        while queue:
            following: list[str] = []
            for arrow in (arrow for box in queue for arrow in leaving.get(box, ())):
                if arrow.target not in reached:
                    reached.add(arrow.target)
                    following.append(arrow.target)
                    yield arrow.id
            queue = following


def _with_rows(diagram: Diagram, kept: Collection[str]) -> Diagram:
    by_id = diagram.by_id
    rows: dict[str, list[Entry]] = {}
    initial: dict[str, tuple[Entry, ...]] = {}
    for arrow in diagram.arrows:
        if arrow.id in kept:
            continue
        if arrow.kind == "initial":
            initial[arrow.target] = (Entry("● initial", actions="".join(entry.actions for entry in arrow.entries)),)
        else:
            target = by_id[arrow.target].title
            entries = arrow.entries or (Entry(),)
            rows.setdefault(arrow.source, []).extend(_towards(entry, target) for entry in entries)
    arrows = tuple(arrow for arrow in diagram.arrows if arrow.id in kept)
    used = {arrow.source for arrow in arrows}
    boxes = tuple(
        replace(box, rows=(*initial.get(box.id, ()), *box.rows, *rows.get(box.id, ())))
        for box in diagram.boxes
        if box.kind != "initial" or box.id in used
    )
    description = f"{diagram.description}\n{NOTE}".strip()
    return Diagram(diagram.name, boxes, arrows, description)


def _towards(entry: Entry, target: str) -> Entry:
    return replace(entry, event=f"{entry.event} → {target}".strip())


def _plain(box: Box) -> Box:
    if box.kind not in ("shallow history", "deep history"):
        return box
    mark = "H*" if box.kind == "deep history" else "H"
    return replace(box, kind="atomic", title=f"{mark} {box.title}")


# ---------------------------------------------------------------- layout without an engine


def pack(nodes: Sequence[Node], links: Sequence[Link] = (), direction: Direction = "down") -> Layout:
    """Place boxes inside boxes, side by side in rows. There must be no links.

    Args:
        nodes: Parents before their children; siblings in reading order.
    """
    assert not links, "lines need an engine"
    return _Packing(nodes).layout()


class _Packing:
    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._children: dict[str | None, list[Node]] = {}
        for node in nodes:
            self._children.setdefault(node.parent, []).append(node)
        self._sizes: dict[str, tuple[float, float]] = {}
        self._places: dict[str, tuple[float, float]] = {}
        self._heads: dict[str, Rect] = {}

    def layout(self) -> Layout:
        for node in reversed(self._nodes):  # children before their parents
            self._sizes[node.id] = self._size(node)
        self._place_in_rows(self._children.get(None, []))
        boxes: dict[str, Rect] = {}
        heads: dict[str, Rect] = {}
        for node in self._nodes:
            x, y = self._places[node.id]
            if node.parent is not None:
                x, y = x + boxes[node.parent].x, y + boxes[node.parent].y
            boxes[node.id] = Rect(x, y, *self._sizes[node.id])
            if node.id in self._heads:
                heads[node.id] = self._heads[node.id].moved(x, y)
        return Layout(boxes, heads, {})

    def _size(self, node: Node) -> tuple[float, float]:
        children = self._children.get(node.id)
        if not children:
            return node.width, node.height
        pad = CONTAINER_PADDING
        head_width, head_height = node.head or (0.0, 0.0)
        top = pad + (head_height + NODE_GAP if node.head else 0.0)
        width, height = self._place_in_rows(children, left=pad, top=top)
        width = max(width, head_width, node.width)
        if node.head:
            self._heads[node.id] = Rect(pad + (width - head_width) / 2, pad, head_width, head_height)
        return width + 2 * pad, top + height + pad

    def _place_in_rows(self, nodes: Sequence[Node], left: float = 0.0, top: float = 0.0) -> tuple[float, float]:
        """Place nodes in rows, relative to their container; return the width and height of all rows."""
        sizes = [self._sizes[node.id] for node in nodes]
        area = fsum((width + NODE_GAP) * (height + NODE_GAP) for width, height in sizes)
        limit = max(sqrt(area * SHAPE), max(width for width, _ in sizes))
        x = y = row = widest = 0.0
        for node, (width, height) in zip(nodes, sizes, strict=True):
            if x and x + width > limit:
                x, y, row = 0.0, y + row + NODE_GAP, 0.0
            self._places[node.id] = (left + x, top + y)
            widest, row = max(widest, x + width), max(row, height)
            x += width + NODE_GAP
        return widest, y + row
