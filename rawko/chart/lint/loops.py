"""Rules about loops that nothing ends: a machine goes round by results and timers alone, and calls an actor each time.

    calling  on error: waiting          every failure leads back to the call, the thousandth as the first:
    waiting  after: {2s: calling}       a guard that counts the tries, or an event, ends it

A loop is reported where none of its transitions has a guard, and none comes after a guarded one for the same event:
then nothing in the chart can end it. Whether a guard that is there ends a loop is a question of the guard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rawko.chart.definition import Chart, Position, Transition
from rawko.chart.errors import MAX_ACCEPTED, Diagnostic
from rawko.chart.lint import walk
from rawko.chart.lint.descriptors import descriptors
from rawko.chart.lint.rules import finding

MAX_STEPS = 20_000
"""Steps and states that are looked at; a chart with more is not asked about its loops."""
MAX_VISITS = 200_000
"""Of states, in search of ways back."""


@dataclass(frozen=True, slots=True)
class _Step:
    """From the states entered by one transition to those entered by the next.

    Attributes:
        invoke: Id of the invocation whose result it is; "" for a timer, the end of a state, or no event.
    """

    target: str
    position: Position
    invoke: str = ""
    is_failure: bool = False


def unbounded_loops(chart: Chart) -> Iterator[Diagnostic]:
    """Report loops without a guard or an event of the outside in which an actor is called again and again."""
    if not any(state.invoke for state in chart):
        return
    steps = _Steps(chart).by_state
    for is_failure in (True, False):
        taken = {name: [one for one in leaving if is_failure or not one.is_failure] for name, leaving in steps.items()}
        ways = _Ways(taken)
        told: set[str] = set()
        for source in (state.name for state in chart if state.name in steps):
            for step in steps[source]:
                if step.invoke and step.is_failure is is_failure and source not in told:
                    way = ways.shortest(step.target, source)
                    if way:
                        told.update((source, *way))
                        yield _found(step, [source, *way])


def _found(step: _Step, way: list[str]) -> Diagnostic:
    path = " -> ".join(way[: MAX_ACCEPTED + 1]) + (" -> ..." if len(way) > MAX_ACCEPTED + 1 else "")
    if step.is_failure:
        message = (
            f"while invoke {step.invoke!r} fails it is tried again for ever: {path}; "
            "give one of these transitions a guard that counts the tries"
        )
        return finding("unbounded-retry", step.position, message)
    message = (
        f"invoke {step.invoke!r} is called again for ever: {path}; "
        "give one of these transitions a guard, a bound for instance, or let an event begin each round"
    )
    return finding("unbounded-loop", step.position, message)


class _Steps:
    """The steps that are taken for certain, by the state that is entered before them.

    Attributes:
        by_state: Of each state with an invocation, and of all that follow; empty where that is too much.
    """

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._firsts: dict[str, dict[str, tuple[int, Transition]]] = {}
        self.by_state: dict[str, list[_Step]] = {}
        pending = [state.name for state in chart if state.invoke]
        left = MAX_STEPS
        while pending:
            name = pending.pop()
            if name in self.by_state:
                continue
            active = _active(chart, name)
            self.by_state[name] = leaving = list(islice(self._leaving(active), left))
            left -= len(leaving) + len(active)
            if left <= 0:
                self.by_state = {}
                return
            pending.extend(step.target for step in leaving)

    def _leaving(self, active: list[str]) -> Iterator[_Step]:
        """The steps out of these active states: without event, or by what comes of itself."""
        if any(_EVENTLESS in self._first_of(name) for name in active):
            yield from self._step(active, _EVENTLESS)
            return
        for name in active:
            state = self._chart[name]
            for invoke in state.invoke:
                yield from self._step(active, f"done.invoke.{invoke.id}", invoke.id)
                yield from self._step(active, f"error.invoke.{invoke.id}", invoke.id, is_failure=True)
            for timer in state.after:
                yield from self._step(active, timer.event)
            if state.kind == "final" and state.parent not in (None, self._chart.root):
                yield from self._step(active, f"done.state.{state.parent}")

    def _step(self, active: list[str], event: str, invoke: str = "", *, is_failure: bool = False) -> Iterator[_Step]:
        """The one that is taken when the event comes, unless it has a guard, or another one with a guard before it."""
        asked = (event,) if event == _EVENTLESS else tuple(descriptors(event))
        for name in active:
            firsts = self._first_of(name)
            found = [firsts[each] for each in asked if each in firsts]
            if found:
                taken = min(found, key=lambda each: each[0])[1]
                if walk.is_always_true(taken.guard) and taken.targets:
                    yield _Step(taken.targets[0], taken.position, invoke, is_failure)
                return

    def _first_of(self, name: str) -> dict[str, tuple[int, Transition]]:
        """By event descriptor: the first transition of a state that is asked, with its place in the order."""
        if name not in self._firsts:
            firsts: dict[str, tuple[int, Transition]] = {}
            ordered = sorted(self._chart[name].transitions, key=lambda each: -each.priority)
            for place, transition in enumerate(ordered):
                if not walk.is_always_false(transition.guard):
                    for event in transition.events or (_EVENTLESS,):
                        firsts.setdefault(event, (place, transition))
            self._firsts[name] = firsts
        return self._firsts[name]


_EVENTLESS = ""
"""The key of transitions without an event."""


def _active(chart: Chart, name: str) -> list[str]:
    """`name`, what is entered with it by default, and the states around it: the innermost first."""
    inside: dict[str, None] = {}
    pending = [name]
    while pending:
        one = pending.pop()
        if one in inside:
            continue
        inside[one] = None
        state = chart[one]
        if state.is_history:
            pending.extend(state.memory or (() if state.parent is None else chart[state.parent].initial))
        elif state.kind == "parallel":
            pending.extend(child for child in state.children if not chart[child].is_history)
        else:
            pending.extend(state.initial)
    active = dict.fromkeys([*inside, *chart.ancestors(name)])
    return sorted((one for one in active if not chart[one].is_history), key=lambda one: -chart.depths[one])


class _Ways:
    """The shortest ways along steps, as far as the work for all of them together has a bound."""

    def __init__(self, steps: Mapping[str, Sequence[_Step]]) -> None:
        self._steps = steps
        self._left = MAX_VISITS

    def shortest(self, start: str, goal: str) -> list[str]:
        """From `start` to `goal`, both included; empty if there is no way."""
        before: dict[str, str | None] = {start: None}
        queue = [start]
        for name in queue:
            if name == goal:
                way = [name]
                while (earlier := before[way[-1]]) is not None:
                    way.append(earlier)
                return way[::-1]
            self._left -= 1
            if self._left <= 0:
                return []
            for step in self._steps.get(name, ()):
                if step.target not in before:
                    before[step.target] = name
                    queue.append(step.target)
        return []
