"""Which lines run forward: what a layered layout must know before it ranks the nodes.

Every container is ordered by itself. A line between nodes of different containers counts in the innermost
container that holds both, between the two children that hold its ends. A depth-first walk from the first node,
in the order given, finds the lines that close a cycle: these run backward.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rawko.render.placing.layout import Link, Node


@dataclass(frozen=True, slots=True)
class Span:
    """Where a link counts: the container (None is the outermost), and the children of it that hold its ends.

    An end is the container itself where the link runs between a node and something inside it.
    """

    container: str | None
    source: str | None
    target: str | None

    @property
    def is_between_children(self) -> bool:
        return self.source != self.container and self.target != self.container


class Tree:
    """The containers of some nodes."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._parents: dict[str, str | None] = {node.id: node.parent for node in nodes}
        self.children: dict[str | None, list[str]] = {}
        for node in nodes:
            self.children.setdefault(node.parent, []).append(node.id)

    def path(self, node: str) -> list[str]:
        """The node and its containers, outermost first."""
        found = [node]
        parent = self._parents[node]
        while parent is not None:
            found.append(parent)
            parent = self._parents[parent]
        return found[::-1]

    def span(self, link: Link) -> Span:
        """Where a link counts."""
        source, target = self.path(link.source), self.path(link.target)
        if link.source == link.target:
            return Span(self._parents[link.source], link.source, link.target)
        common = 0
        for one, other in zip(source, target, strict=False):
            if one != other:
                break
            common += 1
        container = source[common - 1] if common else None
        return Span(container, _after(source, common, container), _after(target, common, container))


def _after(path: Sequence[str], place: int, container: str | None) -> str | None:
    return path[place] if place < len(path) else container


def backward_links(nodes: Sequence[Node], links: Sequence[Link], spans: Mapping[str, Span]) -> frozenset[str]:
    """Ids of the links that run backward, against the order of their container."""
    tree = Tree(nodes)
    first = {node.id for node in nodes if node.is_first}
    levels: dict[str | None, dict[str, list[tuple[str, str]]]] = {}
    for link in links:
        span = spans[link.id]
        if span.is_between_children and span.source is not None and span.target is not None:
            levels.setdefault(span.container, {}).setdefault(span.source, []).append((link.id, span.target))
    found: set[str] = set()
    for container, ways in levels.items():
        starts = sorted(tree.children[container], key=lambda child: child not in first)
        found.update(_closing(starts, ways))
    return frozenset(found)


def _closing(starts: Iterable[str], ways: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[str]:
    """The links that lead back to a node on the walk's way; without recursion, for long chains."""
    entered: set[str] = set()
    on_way: set[str] = set()
    for start in starts:
        if start in entered:
            continue
        entered.add(start)
        on_way.add(start)
        walk = [(start, iter(ways.get(start, ())))]
        while walk:
            node, rest = walk[-1]
            step = next(rest, None)
            if step is None:
                on_way.discard(node)
                walk.pop()
                continue
            link, target = step
            if target in on_way:
                if target != node:
                    yield link
            elif target not in entered:
                entered.add(target)
                on_way.add(target)
                walk.append((target, iter(ways.get(target, ()))))
