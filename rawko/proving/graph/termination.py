"""Cycles that no budget ends.

A way that stays among some states for ever asks and counts a budget only finitely often, unless it refills it. So in
each set of states that lead to each other, the edges of a budget that is not refilled there are taken away, and what
is left is looked at again:

    a -> b (asks and counts x), b -> a         without the edges of x there is no cycle: all ends
    ... and b -> a refills x                   nothing is taken away: the cycle goes on
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rawko.proving.budgets import Spending
from rawko.proving.graph.graphs import components

MOST_SHOWN: Final = 1000
"""Steps through which a cycle is looked for, where one has to be shown."""


class Step(NamedTuple):
    """An edge, with what it does to the budgets."""

    source: int
    target: int
    spending: Spending


def endless_cycle(count: int, steps: Sequence[Step]) -> list[int] | None:
    """A shortest cycle among states between which a way can go on for ever; None: every way comes to an end.

    Args:
        count: Number of states.
    """
    for inner in _knots(count, steps):
        asked = counted = refilled = 0
        for step in inner:
            asked |= step.spending.asked
            counted |= step.spending.counted
            refilled |= step.spending.refilled
        usable = asked & counted & ~refilled
        if not usable:
            return _shown(inner)
        for fewer in _without(inner, usable & -usable):
            found = endless_cycle(count, fewer)
            if found is not None:
                return found
    return None


def _shown(steps: Sequence[Step]) -> list[int]:
    """A shortest cycle that no budget ends by itself; the shortest of all where each alone would end, and only several
    in turn go on for ever."""
    forward: dict[int, list[Step]] = {}
    for step in sorted(steps, key=lambda one: one.spending.asked.bit_count()):
        forward.setdefault(step.source, []).append(step)
    found = sorted((_through(forward, step) for step in steps[:MOST_SHOWN]), key=len)
    chosen = next((cycle for cycle in found if not _ends(cycle)), found[0])
    return [step.source for step in chosen]


def _through(forward: Mapping[int, Sequence[Step]], first: Step) -> list[Step]:
    """A shortest cycle that begins with a step."""
    before: dict[int, Step] = {first.target: first}
    waiting = deque([first.target])
    while first.source not in before:
        for step in forward[waiting.popleft()]:
            if step.target not in before:
                before[step.target] = step
                waiting.append(step.target)
    found = [before[first.source]]
    while found[-1] is not first:
        found.append(before[found[-1].source])
    return found[::-1]


def _ends(cycle: Sequence[Step]) -> bool:
    asked = counted = refilled = 0
    for step in cycle:
        asked |= step.spending.asked
        counted |= step.spending.counted
        refilled |= step.spending.refilled
    return bool(asked & counted & ~refilled)


def _without(steps: Sequence[Step], bit: int) -> list[list[Step]]:
    """What a way can take for ever: finitely many of the questions, or finitely many of the counts."""
    no_question = [step for step in steps if not step.spending.asked & bit]
    no_count = [step for step in steps if not step.spending.counted & bit]
    if all(step.spending.counted & bit for step in steps if step.spending.asked & bit):
        return [no_question]
    if all(step.spending.asked & bit for step in steps if step.spending.counted & bit):
        return [no_count]
    return [no_question, no_count]


def _knots(count: int, steps: Sequence[Step]) -> list[list[Step]]:
    """Steps that lie on cycles, by the set of states that lead to each other; the first-found states come first."""
    number = components(count, [(step.source, step.target) for step in steps])
    found: dict[int, list[Step]] = {}
    for step in steps:
        if number[step.source] == number[step.target]:
            found.setdefault(number[step.source], []).append(step)
    return sorted(found.values(), key=lambda inner: min(step.source for step in inner))
