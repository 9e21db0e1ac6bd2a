"""A chart and its world, without data: what can happen in each state of the whole, and where it leads.

`transition(state, move)` is pure: it gives the states that follow, and changes nothing. The world is free:

    event      an event from outside that the chart names, at any time
    done       an invocation in flight ends well; `error`: it fails or times out; `each`: one of its items has ended;
               where the bounds name outcomes or failures, each of them is one
    timer      the next one to be due: one that was set earlier with no longer a delay comes first
    sent       an event that the machine sent to itself; the first of those that wait
    failure    a guard or an action fails, where the chart names `error.execution`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.proving.bounding.endings import EndKind
from rawko.proving.bounds import NO_BOUNDS, Bounds
from rawko.proving.control import ControlStep
from rawko.proving.hearing.traces import NOTHING_HEARD, Heard
from rawko.proving.outcomes import UNKNOWN_DELAY, Outcome

MoveKind: TypeAlias = Literal["start", "event", "done", "error", "each", "timer", "sent", "failure"]
Waiting: TypeAlias = tuple[str, str, float]
"""A timer that runs: (id, event, delay in seconds or UNKNOWN_DELAY)."""

MAX_QUEUE: Final = 3
"""Events to itself, and timers of one id, that may wait; more are not explored."""

_INTERNAL = ("after.", "done.", "error.", "each.", "rawko.")


class Move(NamedTuple):
    """Something that happens: its kind, its event's name, the invocation or timer that it ends, and the outcome or
    failure with which the invocation ends, where the bounds name some."""

    kind: MoveKind
    event: str
    subject: str = ""
    ending: str = ""

    def __str__(self) -> str:
        if self.ending:
            return f"actor {self.subject!r} {'is done' if self.kind == 'done' else 'fails'}: {self.ending}"
        return {
            "start": "the machine starts",
            "event": f"event {self.event}",
            "done": f"actor {self.subject!r} is done",
            "error": f"actor {self.subject!r} fails or times out",
            "each": f"an item of actor {self.subject!r} has ended",
            "timer": f"timer {self.event} fires",
            "sent": f"event {self.event}, sent to itself",
            "failure": "a guard or an action fails",
        }[self.kind]


class SystemState(NamedTuple):
    """The whole at rest between two macrosteps; hashable.

    Attributes:
        control: See `ControlStep`.
        running: Invocations in flight, as bits by `ControlStep.invocations`.
        timers: In the order in which they were set; of one macrostep, the shortest first.
        queue: Events that the machine has sent to itself, the first one first.
    """

    control: int
    running: int = 0
    timers: tuple[Waiting, ...] = ()
    queue: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """One way in which a move can go: where it leads (None: too much would wait there, or a problem)."""

    target: SystemState | None
    outcome: Outcome


class ControlSystem:
    """What can happen to a chart.

    Args:
        bounds: What the chart itself does not say.
        functions: The chart's own, to be called on the context fields that are bounded; None: none is called.
        heard: What monitors listen to.

    Raises:
        NotProvable: The chart uses something that is not checked.
    """

    def __init__(
        self,
        chart: Chart,
        bounds: Bounds = NO_BOUNDS,
        functions: Bindings | None = None,
        *,
        heard: Heard = NOTHING_HEARD,
    ) -> None:
        self.source = chart
        self.bounds = bounds
        self.step = ControlStep(chart, bounds, functions, heard=heard)
        structure = self.step.structure
        named = {*structure.written, *chart.events, *(_example(w) for w in structure.wildcards)}
        self.events = tuple(sorted(name for name in named if name and not name.startswith(_INTERNAL)))
        self._failures = tuple(n for n in sorted(structure.written) if n in ("error.execution", "error.communication"))
        self._each = {i.id for state in structure.states for i in chart.states[state.name].invoke if i.for_each}
        self._outside: list[tuple[Move, ...] | None] = []
        self._ends = tuple((*self._ends_of(id, "done"), *self._ends_of(id, "error")) for id in self.step.invocations)
        self._items = tuple(Move("each", f"each.invoke.{id}", id) for id in self.step.invocations)

    def _ends_of(self, id: str, kind: EndKind) -> tuple[Move, ...]:
        named = self.step.endings.of.get((id, kind), ())
        endings = [ending.name for ending in named] or [""]
        return tuple(Move(kind, f"{kind}.invoke.{id}", id, ending) for ending in endings)

    def initial(self) -> list[Edge]:
        """Ways in which the whole can start."""
        return [Edge(_follow(SystemState(-1), one, 0, None), one) for one in self.step.initial()]

    def is_done(self, state: SystemState) -> bool:
        """Whether the machine has finished."""
        return self.step.controls[state.control].is_done

    def moves(self, state: SystemState) -> list[Move]:
        """What can happen, in a fixed order; nothing to a machine that has finished."""
        if self.step.controls[state.control].is_done:
            return []
        found = list(self._from_outside(state.control))
        running = state.running
        place = 0
        while running:
            if running & 1:
                found += self._ends[place]
                each = self._items[place]
                if each.subject in self._each and self.step.listens(state.control, each.event):
                    found.append(each)
            running >>= 1
            place += 1
        return found + self.own_moves(state.timers, state.queue)

    @staticmethod
    def own_moves(timers: tuple[Waiting, ...], queue: tuple[str, ...]) -> list[Move]:
        """Timers that may be the next to fire, and the event that the machine has sent to itself first."""
        found = [Move("timer", event, id) for id, event in _due(timers)]
        if queue:
            found.append(Move("sent", queue[0]))
        return found

    def all_moves(self) -> list[Move]:
        """All that can happen from outside, in whichever state."""
        found = [Move("event", name) for name in self.events]
        found += [Move("failure", name) for name in self._failures]
        return found + [end for ends, each in zip(self._ends, self._items, strict=True) for end in (*ends, each)]

    def transition(self, state: SystemState, move: Move) -> list[Edge]:
        """Where a move leads, one edge for each way in which guards can answer.

        Raises:
            TooManyChoices: See `ControlStep.outcomes`.
        """
        outcomes = self.step.outcomes(state.control, move.event, move.ending)
        return [Edge(self.follow(state, move, one), one) for one in outcomes]

    def follow(self, state: SystemState, move: Move, outcome: Outcome) -> SystemState | None:
        """The state after one way in which a move can go; None: a problem, or too much would wait there."""
        ended = self.step.bit[move.subject] if move.kind in ("done", "error") else 0
        return _follow(state, outcome, ended, move)

    def edges(self, state: SystemState) -> Iterator[tuple[Move, Edge]]:
        """All that can happen, with where it leads."""
        for move in self.moves(state):
            for edge in self.transition(state, move):
                yield move, edge

    def is_persons(self, move: Move) -> bool:
        """Whether a person does it: any event from outside that the bounds do not give to an actor, and the end of an
        actor that asks a person."""
        if move.kind == "done":
            return move.subject in self.bounds.person_actors
        return move.kind == "event" and move.event not in self.bounds.actor_events

    def _from_outside(self, control: int) -> tuple[Move, ...]:
        while len(self._outside) <= control:
            self._outside.append(None)
        found = self._outside[control]
        if found is None:
            step, is_heard = self.step, self.step.heard.hears_all_events
            found = tuple(Move("event", name) for name in self.events if is_heard or step.listens(control, name))
            found += tuple(Move("failure", name) for name in self._failures if step.listens(control, name))
            self._outside[control] = found
        return found


def _example(wildcard: str) -> str:
    """An event that only a wildcard matches."""
    return "ANY_OTHER" if wildcard == "*" else f"{wildcard[:-2]}.any_other"


def _due(timers: tuple[Waiting, ...]) -> list[tuple[str, str]]:
    """Timers that may be the next to fire: none set earlier, or at the same time, is certain to be due before them."""
    found: dict[tuple[str, str], None] = {}
    shortest = float("inf")
    for id, event, delay in timers:
        if delay == UNKNOWN_DELAY:
            found[id, event] = None
        elif delay < shortest:
            found[id, event] = None
            shortest = delay
    return list(found)


def _follow(state: SystemState, outcome: Outcome, ended: int, move: Move | None) -> SystemState | None:
    """The state after an outcome; None: a problem, or more would wait than MAX_QUEUE."""
    if outcome.problem:
        return None
    if outcome.stopped == -1:
        return SystemState(outcome.control)
    waiting = waiting_after(state.timers, state.queue, outcome, move)
    if waiting is None:
        return None
    running = ((state.running & ~ended) & ~outcome.stopped) | outcome.started
    return SystemState(outcome.control, running, *waiting)


def waiting_after(
    timers: tuple[Waiting, ...], queue: tuple[str, ...], outcome: Outcome, move: Move | None
) -> tuple[tuple[Waiting, ...], tuple[str, ...]] | None:
    """Timers and queue after an outcome; None: more would wait than MAX_QUEUE."""
    if move is not None and move.kind == "timer":
        place = next(i for i, timer in enumerate(timers) if timer[0] == move.subject and timer[1] == move.event)
        timers = timers[:place] + timers[place + 1 :]
    elif move is not None and move.kind == "sent":
        queue = queue[1:]
    if outcome.timers:
        kept = list(timers)
        new: list[Waiting] = []
        for change in outcome.timers:
            if isinstance(change, str):
                kept = [one for one in kept if one[0] != change]
                new = [one for one in new if one[0] != change]
            else:
                new.append(change)
        new.sort(key=lambda one: one[2])
        if any(sum(one == other for other in (*kept, *new)) > MAX_QUEUE for one in new):
            return None
        timers = (*kept, *new)
    if outcome.sent:
        queue = (*queue, *outcome.sent)
        if len(queue) > MAX_QUEUE:
            return None
    return timers, queue
