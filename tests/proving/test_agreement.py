"""The exploration finds exactly what a plain search with a real interpreter finds, on random charts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from rawko.chart import find_chart, load_chart
from rawko.chart.definition import Action, CallAction, Chart, RaiseAction
from rawko.interpreter import Interpreter
from rawko.interpreter.errors import EventlessCycleError, InvocationError
from rawko.proving import ControlSystem, Exploration, explore
from rawko.proving.bounds import NO_BOUNDS
from rawko.proving.script import Repeated, Script, scripted_bindings
from tests.interpreter import strategies

MAX_STATES = 40


def without_time(chart: Chart) -> Chart:
    """The chart without timers, sent events and eventless transitions, which make a plain search too long; some events
    are raised instead."""

    def kept(actions: tuple[Action, ...]) -> tuple[Action, ...]:
        found: list[Action] = []
        for action in actions:
            if isinstance(action, CallAction):
                found.append(RaiseAction("C") if action.name == "send_few" else action)
        return tuple(found)

    transitions = tuple(
        replace(t, actions=kept(t.actions), events=("B",) if t.events in ((), ("done.state.*",)) else t.events)
        for t in chart.transitions
    )
    states = {
        name: replace(
            state,
            after=(),
            on_entry=kept(state.on_entry),
            on_exit=kept(state.on_exit),
            transitions=tuple(transitions[t.index] for t in state.transitions),
        )
        for name, state in chart.states.items()
    }
    return replace(chart, states=states, transitions=transitions)


class PlainSearch:
    """States of a chart as a real interpreter reaches them: rolled back before each event and each set of answers."""

    def __init__(self, system: ControlSystem) -> None:
        self.system = system
        self.never_same = 0
        self.script = Script(self._elsewhere)
        bindings = scripted_bindings(system.step.chart, NO_BOUNDS, self.script.ask, self.script.change)
        self.machine = Interpreter(system.step.chart, bindings, max_microsteps=12)
        self.found: dict[Any, Any] = {}
        self.edges: set[tuple[Any, Any]] = set()
        self.unhandled: set[Any] = set()
        self.is_endless = False

    def _elsewhere(self) -> int:
        self.never_same += 1
        return self.never_same

    def run(self) -> None:
        fresh = self.machine.checkpoint()
        waiting = self._after(fresh, None, "")
        while waiting and not self.is_endless and len(self.found) <= MAX_STATES:
            key, checkpoint = waiting.pop()
            if key in self.found:
                continue
            self.found[key] = checkpoint
            if key[3]:
                continue
            moves = [(name, "") for name in self.system.events]
            moves += [(f"{end}.invoke.{id}", id) for id in key[2] for end in ("done", "error")]
            for name, ended in moves:
                waiting += self._after(checkpoint, key, name, ended)

    def _after(self, checkpoint: Any, key: Any, name: str, ended: str = "") -> list[tuple[Any, Any]]:
        machine, script = self.machine, self.script
        reached: list[tuple[Any, Any]] = []
        script.given = []
        for _ in range(64):
            machine.roll_back_to(checkpoint)
            script.restart()
            try:
                if key is None:
                    machine.start()
                else:
                    self._send(name, ended)
                following = self._key()
                self.edges.add((key, following))
                reached.append((following, machine.checkpoint()))
            except InvocationError:
                self.unhandled.add(key)
            except EventlessCycleError:
                self.is_endless = True
                return []
            if not script.advance():
                return reached
        self.is_endless = True
        return []

    def _send(self, name: str, ended: str) -> None:
        if not ended:
            self.machine.queue(name)
        elif name.startswith("done"):
            self.machine.complete_invocation(ended, self.machine.invocations[ended].number)
        else:
            self.machine.fail_invocation(ended, self.machine.invocations[ended].number, "any")
        self.machine.execute_once()

    def _key(self) -> tuple[Any, ...]:
        machine = self.machine
        history = tuple(sorted(machine._machine.history.items()))
        return tuple(machine.configuration), history, tuple(sorted(machine.invocations)), machine.final


def key_of(found: Exploration, number: int) -> tuple[Any, ...]:
    state = found.states[number]
    step = found.system.step
    control = step.controls[state.control]
    running = tuple(sorted(id for id, bit in step.bit.items() if state.running & bit))
    return control.node.names, control.history, running, control.is_done


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(strategies.charts())
def test_the_exploration_finds_what_a_plain_search_finds(drawn: Chart) -> None:
    chart = without_time(drawn)
    system = ControlSystem(chart)
    found = explore(system, limit=MAX_STATES)
    plain = PlainSearch(system)
    plain.run()
    assume(not plain.is_endless and len(plain.found) <= MAX_STATES and found.is_complete)
    assert_same(found, plain)


@pytest.mark.parametrize("name", ["judge", "debate"])
def test_the_same_holds_for_shipped_charts_without_timers(name: str) -> None:
    found = explore(ControlSystem(load_chart(find_chart(name))))
    plain = PlainSearch(found.system)
    plain.run()
    assert not plain.is_endless
    assert len(plain.found) == len(found.states) == 5
    assert_same(found, plain)


def assert_same(found: Exploration, plain: PlainSearch) -> None:
    keys = [key_of(found, number) for number in range(len(found.states))]
    assert set(keys) == set(plain.found)
    edges = {(keys[s], keys[t]) for s, t in zip(found.sources, found.targets, strict=True)}
    changes = {(source, target) for source, target in plain.edges if source is not None and source != target}
    assert {(s, t) for s, t in edges if s != t} == changes
    assert {keys[n] for n, _, _ in found.problems} == plain.unhandled


def test_a_repeated_place_passes_through_the_interpreter() -> None:
    assert not issubclass(Repeated, Exception)
