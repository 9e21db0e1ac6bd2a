"""Every state of a system that can be reached, breadth first, with the shortest way to each."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from rawko.proving.budgets import Spending
from rawko.proving.control import LONG, ROUND, Outcome, TooManyChoices
from rawko.proving.system import ControlSystem, Edge, Move, SystemState

DEFAULT_LIMIT: Final = 1_000_000
_REPORT_EVERY: Final = 50_000

PERSON: Final = 1
ASKED: Final = 4
STILL: Final = 8
TAKEN: Final = 16
CANCELS: Final = 32
CANCEL: Final = "CANCEL"
"""Bits of an edge: a person does it; a guard was asked; no state was left or entered; a transition was taken; it is the
event CANCEL."""


@dataclass(slots=True)
class Exploration:
    """What was found.

    Attributes:
        states: In the order in which they were found; the first ones are those after the start.
        before: For each, (number of the state before or -1, move, outcome) of a shortest way to it.
        sources, targets, flags: Of each edge, parallel.
        problems: (state or -1, move, outcome) of macrosteps that fail.
        spendings: Of each edge: budgets that were asked, counted and refilled.
        rounds: As `problems`, of eventless rounds that go on as long as data lets them.
        unknown: Why something was not explored; empty where all was.
        expanded: So many of the states, from the first, have all their edges here.
    """

    system: ControlSystem
    states: list[SystemState] = field(default_factory=list)
    before: list[tuple[int, Move, Outcome]] = field(default_factory=list)
    sources: array[int] = field(default_factory=lambda: array("l"))
    targets: array[int] = field(default_factory=lambda: array("l"))
    flags: array[int] = field(default_factory=lambda: array("b"))
    spendings: list[Spending] = field(default_factory=list)
    problems: list[tuple[int, Move, Outcome]] = field(default_factory=list)
    rounds: list[tuple[int, Move, Outcome]] = field(default_factory=list)
    unknown: dict[str, None] = field(default_factory=dict)
    expanded: int = 0

    @property
    def taken(self) -> set[int]:
        """Transitions that were taken, by index."""
        return self.system.step.taken

    @property
    def is_complete(self) -> bool:
        """Whether every state that can be reached was found."""
        return not self.unknown

    def way_to(self, state: int) -> list[tuple[Move, Outcome]]:
        """A shortest way from the start."""
        found: list[tuple[Move, Outcome]] = []
        while state >= 0:
            state, move, outcome = self.before[state]
            found.append((move, outcome))
        return found[::-1]

    def names(self, state: int) -> tuple[str, ...]:
        """Active states of the chart."""
        return self.system.step.names(self.states[state].control)


def explore(
    system: ControlSystem, *, limit: int = DEFAULT_LIMIT, progress: Callable[[int, int], None] | None = None
) -> Exploration:
    """All states that can be reached, or the first `limit` of them. Ctrl-C keeps what was found.

    Args:
        progress: Told now and then: states found, states whose moves are known.
    """
    found = Exploration(system)
    numbers: dict[SystemState, int] = {}
    start = Move("start", "")
    try:
        for edge in system.initial():
            _add(found, numbers, -1, start, edge)
        while found.expanded < len(found.states):
            if len(found.states) > limit:
                found.unknown[f"the limit of {limit} states was reached"] = None
                break
            _expand(found, numbers, found.expanded)
            found.expanded += 1
            if progress is not None and found.expanded % _REPORT_EVERY == 0:
                progress(len(found.states), found.expanded)
    except TooManyChoices as error:
        found.unknown[str(error)] = None
    except KeyboardInterrupt:
        found.unknown["it was interrupted"] = None
    return found


def _expand(found: Exploration, numbers: dict[SystemState, int], number: int) -> None:
    system = found.system
    for move, edge in system.edges(found.states[number]):
        _add(found, numbers, number, move, edge)


def _add(found: Exploration, numbers: dict[SystemState, int], source: int, move: Move, edge: Edge) -> None:
    outcome = edge.outcome
    if outcome.problem == ROUND:
        found.rounds.append((source, move, outcome))
        return
    if outcome.problem:
        if outcome.problem == LONG:
            found.unknown["a macrostep goes on until its data ends it"] = None
        found.problems.append((source, move, outcome))
        return
    if edge.target is None:
        found.unknown["more events or timers may wait than are explored"] = None
        return
    target = numbers.get(edge.target)
    if target is None:
        target = numbers[edge.target] = len(found.states)
        found.states.append(edge.target)
        found.before.append((source, move, outcome))
    if source < 0:
        return
    found.sources.append(source)
    found.targets.append(target)
    found.flags.append(_flags(found.system, move, outcome))
    found.spendings.append(outcome.spending)


def _flags(system: ControlSystem, move: Move, outcome: Outcome) -> int:
    flags = PERSON if system.is_persons(move) else 0
    if move.event == CANCEL and move.kind == "event":
        flags |= CANCELS
    if outcome.transitions:
        flags |= TAKEN
    if outcome.answers:
        flags |= ASKED
    return flags | STILL if outcome.is_still else flags
