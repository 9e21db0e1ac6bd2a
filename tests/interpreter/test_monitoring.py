"""Monitors of a machine that runs: deadlines, duties, and what is undone with a step."""

from __future__ import annotations

import pytest
from sismic.clock import SimulatedClock

from rawko.chart import Chart, parse_chart
from rawko.interpreter import Interpreter
from rawko.interpreter.monitoring.guarding import MonitorViolated, watch
from rawko.interpreter.monitoring.monitor import ANY_MACHINE, MONITOR_GUARDS, Monitor
from rawko.interpreter.monitoring.watcher import Watcher
from tests.interpreter.tables import chart_of

DESK = chart_of(
    """
    name: desk
    initial: free
    transitions: [{event: END, target: closed}]
    states:
      - {name: free, transitions: [{event: ASK, target: busy}]}
      - {name: busy, transitions: [{event: ANSWER, target: free}]}
      - {name: closed, type: final}
    """
)


def monitor_of(after: str = "") -> Chart:
    return parse_chart(
        f"""
statechart:
  name: answered
  root state:
    name: answered
    initial: idle
    states:
      - name: idle
        transitions: [{{event: state entered, guard: is_state(name='busy'), target: asked}}]
      - name: asked
        description: A question has no answer
        tags: [duty]
        {after}
        transitions: [{{event: event consumed, guard: is_event(name='ANSWER'), target: idle}}]
      - {{name: late, type: final, description: Too late}}
"""
    )


def desk(after: str = "", machine: str = ANY_MACHINE) -> Interpreter:
    found = Interpreter(DESK, clock=SimulatedClock())
    watch(found, [Monitor(ANY_MACHINE, monitor_of(after), MONITOR_GUARDS, machine=machine)])
    found.start()
    return found


def test_an_end_that_finds_a_duty_does_not_happen() -> None:
    machine = desk()
    machine.send("ASK")
    with pytest.raises(MonitorViolated, match="state 'asked': A question has no answer") as violated:
        machine.send("END")
    assert (violated.value.monitor, violated.value.state) == ("answered", "asked")
    assert machine.matches("busy") and not machine.final
    machine.send("ANSWER")
    machine.send("END")
    assert machine.final, "nothing is owed any more"


@pytest.mark.parametrize(("seconds", "is_late"), [(9.0, False), (10.0, True), (11.0, True)])
def test_a_deadline_is_seen_with_the_next_step(seconds: float, is_late: bool) -> None:
    machine = desk("after: {10s: late}")
    machine.send("ASK")
    assert isinstance(machine.clock, SimulatedClock)
    machine.clock.time += seconds
    if not is_late:
        machine.send("ANSWER")
        assert machine.matches("free")
        return
    with pytest.raises(MonitorViolated, match="state 'late': Too late"):
        machine.send("ANSWER")
    assert machine.matches("busy"), "the step has not happened"


def test_a_deadline_of_the_first_state_runs_from_the_moment_of_watching() -> None:
    """The machine's first step may come long after; a monitor that begins with it only would grant the time twice."""
    soon = parse_chart(
        """
statechart:
  name: soon
  root state:
    name: soon
    initial: waiting
    states:
      - name: waiting
        after: {10s: late}
        transitions: [{event: event consumed, target: heard}]
      - {name: heard}
      - {name: late, type: final, description: Nothing came in time}
"""
    )
    machine = Interpreter(DESK, clock=SimulatedClock())
    watch(machine, [Monitor(ANY_MACHINE, soon, MONITOR_GUARDS, machine=ANY_MACHINE)])
    assert isinstance(machine.clock, SimulatedClock)
    machine.clock.time += 10
    with pytest.raises(MonitorViolated, match="state 'late': Nothing came in time"):
        machine.start()


def test_only_machines_of_the_named_chart_are_watched() -> None:
    machine = desk(machine="counter")
    machine.send("ASK")
    machine.send("END")
    assert machine.final
    watched = desk(machine=DESK.name)
    watched.send("ASK")
    with pytest.raises(MonitorViolated):
        watched.send("END")


def test_what_a_monitor_heard_of_a_step_that_failed_is_undone() -> None:
    machine = desk()

    def refuse(event: object) -> None:
        if getattr(event, "name", "") == "step ended":
            raise RuntimeError("no")

    machine.attach(refuse)
    with pytest.raises(RuntimeError):
        machine.send("ASK")
    machine.detach(refuse)
    machine.send("END")
    assert machine.final, "the question was never asked"


def test_a_watcher_goes_on_from_its_snapshot() -> None:
    monitor = Monitor(ANY_MACHINE, monitor_of("after: {10s: late}"), MONITOR_GUARDS)
    machine = Interpreter(DESK, clock=SimulatedClock())
    first = Watcher(monitor, machine)

    def feed(watcher: Watcher) -> None:
        machine.attach(lambda event: watcher.hear(event) if watcher.wants(event) else None)

    feed(first)
    machine.start()
    machine.send("ASK")
    assert first.owes == ("asked",) and first.is_bound
    second = Watcher(monitor, machine, first.interpreter.snapshot())
    assert second.owes == ("asked",)
    feed(second)
    assert isinstance(machine.clock, SimulatedClock)
    machine.clock.time += 11
    machine.send("ANSWER")
    assert second.objection is not None and second.objection.state == "late"
    third = Watcher(monitor, machine, second.interpreter.snapshot())
    assert third.objection == second.objection, "what it objected to stands"
