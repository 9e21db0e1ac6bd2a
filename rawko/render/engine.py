"""`lay_out` by graphlay: what that engine must be told so that its drawings are sound, and how its answer is read.

It places labels poorly: each label is a node of its own between two lines. It breaks cycles by its own lights:
lines that run backward are given to it reversed. It silently ignores fields that it does not know: a test holds
the names used here. Containers get room at their beginning by a node without an outline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rawko.render.balance import ROOMY, Choice, spread
from rawko.render.errors import LayoutError
from rawko.render.layout import Direction, Layout, Link, Node, Rect, Route
from rawko.render.order import Tree, backward_links
from rawko.render.tidy import tidied

CONTAINER_PADDING = 34.0
"""Room inside a container's border on every side; its title stands in the upper one."""

OPTIONS: Mapping[str, Any] = {
    "spacing": {
        "layer_gap": 30.0,
        "node_gap": 26.0,
        "dummy_gap": 18.0,
        "port_gap": 16.0,
        "port_stroke_clear": 10.0,
        "stub": 14.0,
        "isolated_gap": 26.0,
        "compound_padding": CONTAINER_PADDING,
    },
    "routing": {"style": "orthogonal", "merge_edges": "none"},
    "compaction": {"mode": "priority"},
}
_DIRECTIONS: Mapping[Direction, str] = {"down": "topbottom", "right": "leftright"}


def lay_out(nodes: Sequence[Node], links: Sequence[Link], direction: Direction = "down") -> Layout:
    """Place nodes and lines.

    Args:
        nodes: Parents before their children; siblings in the order that they are to be read in.
        links: Between nodes, in the order of importance. A container has none to itself.

    Raises:
        LayoutError: The engine refused the graph.
    """
    return _Request(nodes, links, direction).layout()


class _Request:
    def __init__(self, nodes: Sequence[Node], links: Sequence[Link], direction: Direction) -> None:
        self._nodes, self._links, self._direction = nodes, links, direction
        self._tree = Tree(nodes)
        self._spans = {link.id: self._tree.span(link) for link in links}
        self._backward = backward_links(nodes, links, self._spans)
        self._places: dict[tuple[str, str], int] = {}
        self._raw_nodes: list[dict[str, Any]] = []
        self._raw_edges: list[dict[str, Any]] = []
        self._edges: dict[str, tuple[int, ...]] = {}

    def layout(self) -> Layout:
        self._add_nodes()
        for link in self._links:
            self._add_link(link)
        self._hold_heads()
        self._spread_labels(self._answer()["nodes"])
        return self._read(self._answer())

    # ------------------------------------------------------------ the question

    def _add_nodes(self) -> None:
        for node in self._nodes:
            self._node(("box", node.id), node.width, node.height, node.parent)
            if node.head is not None:
                self._node(("head", node.id), *node.head, node.id)
        for link in self._links:
            if link.label is not None:
                self._node(("label", link.id), *link.label, self._spans[link.id].container)

    def _node(self, key: tuple[str, str], width: float, height: float, parent: str | None) -> None:
        self._places[key] = len(self._raw_nodes)
        raw: dict[str, Any] = {"size": {"width": width, "height": height}, "shape": "box", "key": "/".join(key)}
        if parent is not None:
            raw["parent"] = self._places["box", parent]
        self._raw_nodes.append(raw)

    def _add_link(self, link: Link) -> None:
        source, target = self._places["box", link.source], self._places["box", link.target]
        if link.label is None:
            ways = [(source, target)]
        else:
            label = self._places["label", link.id]
            ways = [(source, label), (label, target)]
        if link.source == link.target:
            ways = [ways[0], ways[1][::-1]]
        elif link.id in self._backward:
            ways = [(end, start) for start, end in ways]
        self._edges[link.id] = tuple(self._edge(*way) for way in ways)

    def _edge(self, source: int, target: int, weight: float = 1.0) -> int:
        self._raw_edges.append({"source": source, "target": target, "weight": weight})
        return len(self._raw_edges) - 1

    def _hold_heads(self) -> None:
        """Tie each head to what begins its container, so that it stands before it."""
        reached = set(self._reached())
        for node in self._nodes:
            if node.head is None:
                continue
            for child in self._tree.children.get(node.id, ()):
                if node.are_parts_beside or child not in reached:
                    self._edge(self._places["head", node.id], self._places["box", child])

    def _reached(self) -> Iterator[str]:
        """Nodes that some forward line of their container leads to."""
        for link in self._links:
            span = self._spans[link.id]
            end = span.source if link.id in self._backward else span.target
            if span.is_between_children and span.source != span.target and end is not None:
                yield end

    def _answer(self) -> Mapping[str, Any]:
        import graphlay

        options = {**OPTIONS, "direction": _DIRECTIONS[self._direction]}
        try:
            return graphlay.layout({"nodes": self._raw_nodes, "edges": self._raw_edges}, options=options).raw
        except graphlay.GraphlayError as error:
            raise LayoutError(f"the layout engine refused the diagram: {error}") from error

    def _spread_labels(self, answer: Sequence[Mapping[str, Any]]) -> None:
        """Fix every rank as the engine chose it, but for labels that stand better elsewhere on their line."""
        ranks = {key: answer[place]["rank"] for key, place in self._places.items()}
        across = "width" if self._direction == "down" else "height"
        room: dict[str | None, dict[int, float]] = {}
        choices: dict[str | None, list[Choice]] = {}
        for link in self._links:
            span = self._spans[link.id]
            if link.label is None or link.source == link.target or not span.is_between_children:
                continue
            start, end = ranks["box", str(span.source)], ranks["box", str(span.target)]
            if start is None or end is None or abs(end - start) <= 2:
                continue
            way = range(start + 1, end) if start < end else range(start - 1, end, -1)
            size = link.label[self._direction == "right"] + OPTIONS["spacing"]["node_gap"]
            choices.setdefault(span.container, []).append(Choice(("label", link.id), way, size))
        if not choices:
            return
        moving = {choice.key for each in choices.values() for choice in each}
        parents = {("box", node.id): node.parent for node in self._nodes}
        parents |= {("label", link.id): self._spans[link.id].container for link in self._links}
        parents |= {("head", node.id): node.id for node in self._nodes}
        for key, place in self._places.items():
            if key not in moving and ranks[key] is not None:
                level = room.setdefault(parents[key], {})
                level[ranks[key]] = level.get(ranks[key], 0.0) + answer[place]["size"][across] + 26
        for container, each in choices.items():
            ranks |= spread(room.get(container, {}), each, ROOMY[self._direction])
        for key, place in self._places.items():
            if parents[key] in choices and ranks[key] is not None:
                self._raw_nodes[place]["rank"] = {"fixed": ranks[key]}

    # ------------------------------------------------------------ the answer

    def _read(self, raw: Mapping[str, Any]) -> Layout:
        rects = {key: _rect(raw["nodes"][place]) for key, place in self._places.items()}
        return Layout(
            boxes={name: rect for (kind, name), rect in rects.items() if kind == "box"},
            heads={name: rect for (kind, name), rect in rects.items() if kind == "head"},
            routes={link.id: self._route(link, raw["edges"], rects.get(("label", link.id))) for link in self._links},
        )

    def _route(self, link: Link, edges: Sequence[Mapping[str, Any]], label: Rect | None) -> Route:
        parts = [tuple((point["x"], point["y"]) for point in edges[place]["points"]) for place in self._edges[link.id]]
        if link.source == link.target:
            parts[1] = parts[1][::-1]
        elif link.id in self._backward:
            parts = [part[::-1] for part in parts]
        return Route(tuple(tidied(part) for part in parts), label)


def _rect(raw: Mapping[str, Any]) -> Rect:
    width, height = raw["size"]["width"], raw["size"]["height"]
    return Rect(raw["center"]["x"] - width / 2, raw["center"]["y"] - height / 2, width, height)
