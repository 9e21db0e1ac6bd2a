"""Combines paths of parts into one path of the whole.

    part of r1    start, E1, timer of r1 fires (5s)
    r2            has set a timer of 1s before it
    the whole     start, E1, timer of r2 fires, timer of r1 fires

A step waits for other regions only if it is a timer or an event to itself; earlier ones of other regions are then taken
first. A combined path may therefore have more steps than a shortest path of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from rawko.proving.exploring.exploration import START
from rawko.proving.outcomes import Outcome
from rawko.proving.system import ControlSystem, Move, SystemState

Way: TypeAlias = Sequence[tuple[Move, Outcome]]
MAX_STEPS: Final = 10_000
MAX_ROUNDS: Final = 64
_BEFORE: Final = SystemState(-1)


class Merging:
    """A path of the whole that is extended by steps of parts.

    Attributes:
        way: The path so far.
        state: The state after it.
        forced: Steps of other regions that had to be taken first.
    """

    def __init__(self, system: ControlSystem) -> None:
        self._system = system
        self.way: list[tuple[Move, Outcome]] = []
        self.state = _BEFORE
        self.forced: list[Outcome] = []

    def take(self, *ways: Way) -> bool:
        """Take the steps of some paths, each in its order; False where a step is not possible."""
        left = [list(way) for way in ways if way]
        while left:
            if len(self.way) > MAX_STEPS:
                return False
            possible = self._system.moves(self.state) if self.state != _BEFORE else [START]
            ready = next((way for way in left if way[0][0] in possible), None)
            if ready is None:
                if not self._force():
                    return False
                continue
            move, outcome = ready.pop(0)
            if not self._step(move, outcome, is_last=not ready and len(left) == 1):
                return False
            left = [way for way in left if way]
        return True

    def _step(self, move: Move, wanted: Outcome, *, is_last: bool) -> bool:
        if wanted.problem:
            self.way.append((move, wanted))
            return is_last
        system = self._system
        step = system.step
        if self.state == _BEFORE:
            every = step.every_initial()
        else:
            every = step.every_outcome(self.state.control, move.event, move.ending)
        alike = [one for one in every if (one.transitions, one.answers) == (wanted.transitions, wanted.answers)]
        target = system.follow(self.state, move, alike[0]) if alike else None
        if target is None:
            return False
        self.way.append((move, alike[0]))
        self.state = target
        return True

    def _force(self) -> bool:
        """Take the first due timer or event to itself of any region; False where there is none."""
        for move in self._system.own_moves(self.state.timers, self.state.queue):
            for edge in self._system.transition(self.state, move):
                if edge.target is not None:
                    self.way.append((move, edge.outcome))
                    self.state = edge.target
                    self.forced.append(edge.outcome)
                    return True
        return False

    def repeat_cycle(self, turns: Way) -> tuple[int, bool]:
        """Take the steps of a cycle repeatedly, until the whole is in a state that it was in before.

        Returns:
            Number of steps of the path before that cycle, and whether it was found.
        """
        seen: dict[SystemState, int] = {}
        for _ in range(MAX_ROUNDS):
            if self.state in seen:
                return seen[self.state], True
            seen[self.state] = len(self.way)
            if not self.take(turns):
                break
        return len(self.way), False
