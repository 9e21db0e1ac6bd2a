"""Finds cycles that no budget ends.

A path that stays among some states for ever evaluates and counts a budget only finitely often, unless it refills it. So
in each strongly connected component, the edges of a budget that is not refilled there are removed, and the rest is
checked again:

    a -> b (evaluates and counts x), b -> a    without the edges of x there is no cycle: every path ends
    ... and b -> a refills x                   no edge is removed: the cycle can repeat for ever
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rawko.proving.budgets import Spending
from rawko.proving.graph.graphs import components

MOST_SHOWN: Final = 1000
"""Most steps through which a cycle to show is searched."""


class Step(NamedTuple):
    """An edge, with its effects on budgets."""

    source: int
    target: int
    spending: Spending


def endless_cycle(count: int, steps: Sequence[Step]) -> list[int] | None:
    """A shortest cycle among states between which a path can continue for ever; None: every path ends.

    Args:
        count: Number of states.
    """
    for inner in _steps_by_component(count, steps):
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
    """A shortest cycle that no budget ends; if budgets end each cycle alone, and only several in turn continue for
    ever, the shortest of all."""
    forward: dict[int, list[Step]] = {}
    for step in sorted(steps, key=lambda one: one.spending.asked.bit_count()):
        forward.setdefault(step.source, []).append(step)
    found = sorted((_through(forward, step) for step in steps[:MOST_SHOWN]), key=len)
    chosen = next((cycle for cycle in found if not _ends(cycle)), found[0])
    return [step.source for step in chosen]


def _through(forward: Mapping[int, Sequence[Step]], first: Step) -> list[Step]:
    """A shortest cycle that begins with this step."""
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
    """The steps that a path can take for ever: all but the evaluations of a budget, or all but its counts."""
    no_question = [step for step in steps if not step.spending.asked & bit]
    no_count = [step for step in steps if not step.spending.counted & bit]
    if all(step.spending.counted & bit for step in steps if step.spending.asked & bit):
        return [no_question]
    if all(step.spending.asked & bit for step in steps if step.spending.counted & bit):
        return [no_count]
    return [no_question, no_count]


def _steps_by_component(count: int, steps: Sequence[Step]) -> list[list[Step]]:
    """Steps on cycles, grouped by strongly connected component; components with the first-found states come first."""
    number = components(count, [(step.source, step.target) for step in steps])
    found: dict[int, list[Step]] = {}
    for step in steps:
        if number[step.source] == number[step.target]:
            found.setdefault(number[step.source], []).append(step)
    return sorted(found.values(), key=lambda inner: min(step.source for step in inner))
