"""Ways through a chart: a shortest one to each state, or few that take every transition. Verdicts do not belong here.

shortest      of each state of the chart, a shortest way to a configuration at rest in which it is active
transitions   ways that together take every transition that is ever taken; one whose transitions others take is left out
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from rawko.proving.control import TooManyChoices
from rawko.proving.exploring.exploration import START, Exploration
from rawko.proving.outcomes import Outcome
from rawko.proving.system import Move

Way: TypeAlias = tuple[tuple[Move, Outcome], ...]


@dataclass(frozen=True, slots=True)
class ChartPath:
    """A way from the start, and the state or transition to which it was looked for."""

    goal: str
    way: Way


@dataclass(frozen=True, slots=True)
class Paths:
    """What was found, and one sentence for each state or transition without a path."""

    paths: tuple[ChartPath, ...]
    missing: tuple[str, ...] = ()


def shortest_paths(found: Exploration, to: Sequence[str] = ()) -> Paths:
    """A shortest path to each state, in the order in which an exploration finds them.

    Args:
        to: Names of states; all of the chart where empty.
    """
    structure = found.system.step.structure
    wanted = list(to or (name for i, name in enumerate(structure.names) if not structure.is_history[i]))
    left = dict.fromkeys(wanted)
    paths: list[ChartPath] = []
    for number in range(len(found)):
        if not left:
            break
        for name in found.names(number):
            if name in left:
                del left[name]
                paths.append(ChartPath(f"state {name!r}", tuple(found.way_to(number))))
    return Paths(tuple(paths), tuple(f"state {name!r} is active in no configuration that was found" for name in left))


def transition_paths(found: Exploration) -> Paths:
    """Paths that together take every transition; the longest ones are kept first."""
    first, problems = _first_steps(found)
    ways: dict[int, Way] = {}
    for index, (number, move, outcome) in first.items():
        before = found.way_to(number) if number >= 0 else []
        ways[index] = (*before, (move, outcome))
    structure = found.system.step.structure
    texts = {t.index: f"transition of {t.source!r} ({', '.join(t.events) or 'always'})" for t in structure.transitions}
    covered: set[int] = set()
    paths: list[ChartPath] = []
    for index in sorted(ways, key=lambda one: (-len(ways[one]), one)):
        if index not in covered:
            covered.update(taken for _, outcome in ways[index] for taken in outcome.transitions)
            paths.append(ChartPath(texts[index], ways[index]))
    missing = [f"{texts[t.index]} at {t.position} is never taken" for t in structure.transitions if t.index not in ways]
    return Paths(tuple(paths), (*problems, *missing))


def _first_steps(found: Exploration) -> tuple[dict[int, tuple[int, Move, Outcome]], list[str]]:
    """By transition the first state (-1: before the start), move and outcome that take it; and what was left out."""
    system = found.system
    first: dict[int, tuple[int, Move, Outcome]] = {}
    problems: dict[str, None] = {}

    def look(number: int, move: Move, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            for index in () if outcome.problem else outcome.transitions:
                first.setdefault(index, (number, move, outcome))

    look(-1, START, system.step.every_initial())
    seen: set[tuple[int, str]] = set()
    for number in range(len(found)):
        if len(first) == len(system.step.structure.transitions):
            break
        state = found.state(number)
        for move in system.moves(state):
            if (state.control, move.event) in seen:
                continue
            seen.add((state.control, move.event))
            try:
                look(number, move, system.step.every_outcome(state.control, move.event))
            except TooManyChoices as error:
                problems[f"{move}: {error}"] = None
    return first, list(problems)


STRATEGIES: Final[Mapping[str, Callable[[Exploration], Paths]]] = {
    "shortest": shortest_paths,
    "transitions": transition_paths,
}
