"""`lay_out` with the layout engine graphlay: how a diagram becomes its input, and how its output is read.

Workarounds for the engine: it places labels badly, so each label is a node of its own between two lines. It chooses
by itself which lines of a cycle to reverse, so backward lines are passed to it reversed. It silently ignores unknown
fields, so a test checks the field names used here. A node without outline reserves room for a container's head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rawko.render.errors import LayoutError, TangledError
from rawko.render.placing.balance import SHORT_RANK, LabelChoice, choose_ranks
from rawko.render.placing.layout import Direction, Layout, Link, Node, Point, Rect, Route
from rawko.render.placing.order import Tree, backward_links
from rawko.render.placing.regions import regions_in_order
from rawko.render.placing.repair import repaired
from rawko.render.placing.tidy import meeting_circle, tidied

CONTAINER_PADDING = 34.0
"""Room inside a container's border on every side; the upper one contains its title."""

NODE_GAP = 26.0
OPTIONS: Mapping[str, Any] = {
    "spacing": {
        "layer_gap": 30.0,
        "node_gap": NODE_GAP,
        "dummy_gap": 18.0,
        "port_gap": 16.0,
        "port_stroke_clear": 10.0,
        "stub": 14.0,
        "isolated_gap": NODE_GAP,
        "compound_padding": CONTAINER_PADDING,
    },
    "routing": {"style": "orthogonal", "merge_edges": "none"},
    "limits": {"max_dummies": 20_000},
}
PACKED: Sequence[Mapping[str, Any]] = [{"compaction": {"mode": "priority"}, "seed": seed} for seed in range(4)]
"""Options that make a drawing narrower, tried one after the other; the narrowest result is used."""

LIGHT = 1200
"""Up to this sum of ranks that the lines pass, the engine may spend time on a better drawing."""

READABLE = 1160.0
"""Drawings up to this width, in pixels, are readable on a page; wider ones are packed."""

_DIRECTIONS: Mapping[Direction, str] = {"down": "topbottom", "right": "leftright"}


def lay_out(nodes: Sequence[Node], links: Sequence[Link], direction: Direction = "down") -> Layout:
    """Place nodes and lines.

    Args:
        nodes: Parents before their children; siblings in reading order.
        links: Links between nodes, the most important first. A container has no link to itself.

    Raises:
        TangledError: The lines pass too many ranks for the engine.
        LayoutError: The engine refused the graph.
    """
    return _Request(nodes, links, direction).layout()


class _Request:
    def __init__(self, nodes: Sequence[Node], links: Sequence[Link], direction: Direction) -> None:
        self._nodes, self._links, self._direction = nodes, links, direction
        self._tree = Tree(nodes)
        self._parents = {node.id: node.parent for node in nodes}
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
        self._link_heads()
        answer = self._answer({"effort": "fast"})
        weight = self._weight(answer["nodes"])
        effort = {"effort": "balanced" if weight <= LIGHT else "fast"}
        if self._spread_labels(answer["nodes"]) or weight <= LIGHT:
            answer = self._answer(effort)
        if weight <= LIGHT and self._across(answer) > READABLE:
            # Packed lines have more bends, which is acceptable only if the drawing would otherwise be too wide to read.
            answer = min(answer, *map(self._answer, PACKED), key=self._across)
        layout, defects = self._read(answer)
        # In about one chart of a hundred a defective line cannot be repaired; other positions of the boxes often help.
        for packed in PACKED[:2] if defects and weight <= LIGHT else ():
            other, more = self._read(self._answer(packed))
            if more < defects:
                layout, defects = other, more
            if not defects:
                break
        return layout

    def _weight(self, nodes: Sequence[Mapping[str, Any]]) -> int:
        """The sum of the ranks that each line passes: the layout's cost depends mostly on it, not on the states."""
        weight = 0
        for span in self._spans.values():
            if span.is_between_children:
                ends = [nodes[self._places["box", str(end)]]["rank"] for end in (span.source, span.target)]
                weight += abs(ends[0] - ends[1]) if None not in ends else 1
        return weight

    def _across(self, answer: Mapping[str, Any]) -> float:
        axis = "x" if self._direction == "down" else "y"
        return float(answer["bounds"]["max"][axis] - answer["bounds"]["min"][axis])

    # ------------------------------------------------------------ input of the engine

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

    def _link_heads(self) -> None:
        """Link each head to the first children of its container, so that the engine puts the head before them."""
        reached = set(self._reached())
        for node in self._nodes:
            if node.head is None:
                continue
            for child in self._tree.children.get(node.id, ()):
                if node.are_parts_beside or child not in reached:
                    self._edge(self._places["head", node.id], self._places["box", child])

    def _reached(self) -> Iterator[str]:
        """Nodes that are the end of some forward line between children of one container."""
        for link in self._links:
            span = self._spans[link.id]
            end = span.source if link.id in self._backward else span.target
            if span.is_between_children and span.source != span.target and end is not None:
                yield end

    def _answer(self, more: Mapping[str, Any] = MappingProxyType({})) -> Mapping[str, Any]:
        import graphlay

        options = {**OPTIONS, **more, "direction": _DIRECTIONS[self._direction]}
        try:
            return graphlay.layout({"nodes": self._raw_nodes, "edges": self._raw_edges}, options=options).raw
        except graphlay.GraphlayError as error:
            if "limit is" in str(error):
                raise TangledError(str(error)) from error
            raise LayoutError(f"the layout engine refused the diagram: {error}") from error

    def _spread_labels(self, answer: Sequence[Mapping[str, Any]]) -> bool:
        """Fix every rank as the engine chose it, except for labels that fit better into another rank of their line.

        Returns:
            Whether there are such labels.
        """
        ranks = {key: answer[place]["rank"] for key, place in self._places.items()}
        choices = self._choices(ranks)
        moving = {choice.key for each in choices.values() for choice in each}
        taken: dict[str | None, dict[int, float]] = {}
        across = "width" if self._direction == "down" else "height"
        for key, place in self._places.items():
            if key not in moving and ranks[key] is not None:
                level = taken.setdefault(self._container(key), {})
                level[ranks[key]] = level.get(ranks[key], 0.0) + answer[place]["size"][across] + NODE_GAP
        for container, each in choices.items():
            ranks |= choose_ranks(taken.get(container, {}), each, SHORT_RANK[self._direction])
        # Ranks count within a container, but the engine refuses a line between equal ranks of different containers.
        offsets = {container: number * len(self._places) for number, container in enumerate(choices)}
        for key, place in self._places.items():
            container = self._container(key)
            if container in offsets and ranks[key] is not None:
                self._raw_nodes[place]["rank"] = {"fixed": ranks[key] + offsets[container]}
        return bool(choices)

    def _choices(self, ranks: Mapping[tuple[str, str], int | None]) -> dict[str | None, list[LabelChoice]]:
        """Labels of long lines, by container, with the ranks that their line passes, beginning at its source."""
        choices: dict[str | None, list[LabelChoice]] = {}
        for link in self._links:
            span = self._spans[link.id]
            if link.label is None or span.source == span.target or not span.is_between_children:
                continue
            start, end = ranks["box", str(span.source)], ranks["box", str(span.target)]
            if start is None or end is None or abs(end - start) <= 2:
                continue
            way = range(start + 1, end) if start < end else range(start - 1, end, -1)
            size = link.label[self._direction == "right"] + NODE_GAP
            choices.setdefault(span.container, []).append(LabelChoice(("label", link.id), way, size))
        return choices

    def _container(self, key: tuple[str, str]) -> str | None:
        kind, name = key
        if kind == "head":
            return name
        return self._spans[name].container if kind == "label" else self._parents[name]

    # ------------------------------------------------------------ output of the engine

    def _read(self, raw: Mapping[str, Any]) -> tuple[Layout, int]:
        rects = {key: _rect(raw["nodes"][place]) for key, place in self._places.items()}
        boxes = {name: rect for (kind, name), rect in rects.items() if kind == "box"}
        circles = {node.id: boxes[node.id] for node in self._nodes if node.is_round}
        routes: dict[str, Route] = {}
        for link in self._links:
            parts = [tidied(part) for part in self._parts(link, raw["edges"])]
            if link.source in circles:
                parts[0] = meeting_circle(parts[0], circles[link.source], at_end=False)
            if link.target in circles:
                parts[-1] = meeting_circle(parts[-1], circles[link.target], at_end=True)
            routes[link.id] = Route(tuple(parts), rects.get(("label", link.id)))
        heads = {name: rect for (kind, name), rect in rects.items() if kind == "head"}
        layout = regions_in_order(Layout(boxes, heads, routes), self._nodes, self._links, self._direction)
        return repaired(layout, self._nodes, self._around())

    def _around(self) -> dict[str, frozenset[str]]:
        """The boxes that each link may cross.

        These are the containers around its ends, an end that contains the other end, and circles at its ends.
        """
        circles = {node.id for node in self._nodes if node.is_round}
        return {
            link.id: frozenset(
                self._holding(link.source, link.target)
                | self._holding(link.target, link.source)
                | ({link.source, link.target} & circles)
            )
            for link in self._links
        }

    def _holding(self, end: str, other: str) -> set[str]:
        return set(self._tree.path(end)[:-1]) | ({end} & set(self._tree.path(other)[:-1]))

    def _parts(self, link: Link, edges: Sequence[Mapping[str, Any]]) -> list[list[Point]]:
        """The link's polylines from its source to its target; the engine may have drawn them in reverse."""
        parts = [[(point["x"], point["y"]) for point in edges[place]["points"]] for place in self._edges[link.id]]
        if link.source == link.target:
            return [parts[0], parts[1][::-1]]
        return [part[::-1] for part in parts] if link.id in self._backward else parts


def _rect(raw: Mapping[str, Any]) -> Rect:
    width, height = raw["size"]["width"], raw["size"]["height"]
    return Rect(raw["center"]["x"] - width / 2, raw["center"]["y"] - height / 2, width, height)
