"""Which cards of one container stand in which column: the way from its initial state in the middle, the rest beside it.

Every choice depends on the order of the chart alone, so that the same chart is drawn the same way each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum

from rawko.render.placing.layout import Direction

Columns = tuple[tuple[str, ...], ...]
MOST_COLUMNS = 12


@dataclass(frozen=True)
class Siblings:
    """The cards inside one container.

    Attributes:
        names: In the order of the chart.
        edges: What leads from one to another, each with whether only errors take it; a pair once.
        starts: Initial ones first in the walk that tells forward from backward.
        heights: Of the cards, in pixels.
        finals: Those that end the container; `common` are those that many others lead to.
    """

    names: tuple[str, ...]
    edges: Mapping[tuple[str, str], bool]
    starts: tuple[str, ...]
    heights: Mapping[str, float]
    finals: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()
    shared: str | None = None
    is_parallel: bool = False
    walk: dict[str, int] = field(default_factory=dict)

    @cached_property
    def following(self) -> Mapping[str, tuple[str, ...]]:
        """Where each one leads, errors last."""
        found: dict[str, list[str]] = {name: [] for name in self.names}
        for (one, other), _ in sorted(self.edges.items(), key=lambda item: item[1]):
            found[one].append(other)
        return {name: tuple(others) for name, others in found.items()}

    @cached_property
    def forward(self) -> frozenset[tuple[str, str]]:
        """The edges without those that lead back to where a walk from the start came from."""
        done: dict[str, bool] = {}
        kept: set[tuple[str, str]] = set()
        first = [name for name in (*self.starts, *self.names) if name != self.shared]
        for root in (*first, *([self.shared] if self.shared else [])):
            if root in done:
                continue
            done[root] = False
            stack: list[tuple[str, Iterator[str]]] = [(root, iter(self.following[root]))]
            while stack:
                name, others = stack[-1]
                for other in others:
                    if done.get(other) is False:
                        continue
                    kept.add((name, other))
                    if other not in done:
                        done[other] = False
                        stack.append((other, iter(self.following[other])))
                        break
                else:
                    done[name] = True
                    self.walk[name] = len(self.walk)
                    stack.pop()
        return frozenset(kept)

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """How many forward edges the longest way to each one has."""
        ranks = dict.fromkeys(self.names, 0)
        forward = self.forward
        for name in sorted(self.names, key=lambda each: -self.walk[each]):
            for other in self.following[name]:
                if (name, other) in forward:
                    ranks[other] = max(ranks[other], ranks[name] + 1)
        return ranks

    def lost(self, columns: Columns) -> int:
        """How many edges lead over a whole column: they cannot become lines."""
        where = {name: number for number, column in enumerate(columns) for name in column}
        return sum(abs(where[one] - where[other]) > 1 for one, other in self.edges)

    @cached_property
    def main(self) -> tuple[str, ...]:
        """The longest way from the initial state over forward edges that no error takes, without final states."""
        forward = self.forward
        way: dict[str, tuple[int, str | None]] = {}
        for name in sorted(self.names, key=lambda each: self.walk[each]):
            best: tuple[int, str | None] = (1, None)
            for other in self.following[name]:
                is_way = (name, other) in forward and not self.edges[name, other] and other not in self.finals
                if is_way and way[other][0] + 1 > best[0]:
                    best = (way[other][0] + 1, other)
            way[name] = best
        first: str | None = next((name for name in (*self.starts, *self.names) if name != self.shared), None)
        found: list[str] = []
        while first is not None:
            found.append(first)
            first = way[first][1]
        return tuple(found)


def ways_to_place(group: Siblings, direction: Direction) -> Iterator[Columns]:
    """Columns that may be tried, the simplest first."""
    names = group.names
    most = min(len(names), MOST_COLUMNS)
    if group.is_parallel:
        counts = range(1, most + 1) if direction == "right" else range(most, 0, -1)
        for count in counts:
            yield tuple(names[place::count] for place in range(count))
    elif direction == "right":
        yield from _along(group, most)
    else:
        yield (names,)
        if len(names) > 2:
            yield from _beside(group)
            yield from _highest_alone(group)
            for count in range(2, most + 1):
                yield _split(names, group.heights, count)


def _along(group: Siblings, most: int) -> Iterator[Columns]:
    """One column for each rank, and for ranks that follow each other, in fewer and fewer columns."""
    by_rank: dict[int, list[str]] = {}
    for name in group.names:
        # Finals that many states lead to have no line that says where: they stand behind all others.
        by_rank.setdefault(len(group.names) if name in group.common else group.ranks[name], []).append(name)
    ranks = [by_rank[rank] for rank in sorted(by_rank)]
    if len(ranks) <= most:
        yield tuple(map(tuple, ranks))
    order = [name for rank in ranks for name in rank]
    for count in range(most, 0, -1):
        yield _split(order, group.heights, count)


def _split(names: Sequence[str], heights: Mapping[str, float], count: int) -> Columns:
    """The cards in their order, in so many columns of about the same height."""
    whole = fsum(heights[name] for name in names)
    columns: list[list[str]] = [[] for _ in range(count)]
    passed = 0.0
    for name in names:
        middle = passed + heights[name] / 2
        columns[min(int(middle * count / whole), count - 1)].append(name)
        passed += heights[name]
    return tuple(tuple(column) for column in columns if column)


def _beside(group: Siblings) -> Iterator[Columns]:
    """The main way in the middle, and the others to its right, or to both sides of it."""
    main = group.main
    on_way = set(main)
    rest = [name for name in group.names if name not in on_way]
    if not rest:
        return
    yield _cleaned((main, tuple(sorted(rest, key=lambda name: name != group.shared))))
    left: list[str] = [group.shared] if group.shared else []
    right: list[str] = []
    side: dict[str, list[str]] = dict.fromkeys(left, left)
    heights = {id(left): 0.0, id(right): 0.0}
    near: dict[str, list[str]] = {name: [] for name in group.names}
    for one, other in group.edges:
        near[one].append(other)
        near[other].append(one)
    coming: dict[str, list[bool]] = {name: [] for name in group.names}
    for (_, other), is_error in group.edges.items():
        coming[other].append(is_error)
    for name in sorted(rest, key=lambda each: each in group.finals):
        if name == group.shared:
            continue
        beside = [side[other] for other in near[name] if other in side]
        if name in group.common:
            place = min((left, right), key=lambda column: heights[id(column)])
        elif beside:
            place = beside[0]
        elif coming[name] and all(coming[name]):
            place = left
        else:
            place = right if heights[id(right)] <= heights[id(left)] + 400 else left
        place.append(name)
        side[name] = place
        heights[id(place)] += group.heights[name]
    yield _cleaned((tuple(left), main, tuple(right)))
    if len(main) > 2:
        yield _cleaned((tuple(left), *_split(main, group.heights, 2), tuple(right)))


def _highest_alone(group: Siblings) -> Iterator[Columns]:
    """The highest card, and all others beside it."""
    highest = max(group.names, key=lambda name: group.heights[name])
    others = tuple(name for name in group.names if name != highest)
    if highest not in group.finals:
        if highest not in group.starts:
            yield (others, (highest,))
        yield ((highest,), others)


def _cleaned(columns: Columns) -> Columns:
    return tuple(column for column in columns if column)
