"""Plan tables: shared, bounded, and gone with their chart."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

from rawko.chart import parse_chart
from rawko.interpreter import Bindings, Interpreter, assign
from rawko.interpreter.compiled.tables import Node
from tests.interpreter.tables import chart_of

RING = "name: r\ninitial: s0\nstates:\n" + "".join(
    f"- {{name: s{n}, transitions: [{{event: E, target: s{(n + 1) % 50}, action: step}}]}}\n" for n in range(50)
)


def step(context: Any, event: Any) -> Any:
    return assign(n=context.n + 1)


def bindings() -> Bindings:
    found = Bindings()
    found.action(step)
    return found


def test_interpreters_of_one_chart_and_its_bindings_share_tables() -> None:
    chart, names = chart_of(RING), bindings()
    first, second = (Interpreter(chart, names, input={"n": 0}) for _ in range(2))
    other = Interpreter(chart, bindings(), input={"n": 0})
    assert first._machine.program is second._machine.program
    assert first._machine.program is not other._machine.program
    assert first._machine.program.structure is other._machine.program.structure


def test_tables_are_bounded_and_what_is_in_use_goes_on() -> None:
    chart = chart_of(RING)
    resting, running = (Interpreter(chart, bindings_, input={"n": 0}) for bindings_ in (bindings(),) * 2)
    program = running._machine.program
    assert program is resting._machine.program
    program.max_nodes = 3
    resting.start()
    for n in range(200):
        running.send("E")
        assert len(program.nodes) <= 3
        if n % 20 == 0:
            resting.send("E")
    gc.collect()
    living = sum(type(found) is Node and found._structure is program.structure for found in gc.get_objects())
    assert living <= 3 + 2 * 2  # the two machines' own nodes, and where their last plans lead
    assert running.configuration == ["r", "s0"]
    assert resting.configuration == ["r", "s10"]


def test_a_guard_that_asks_for_another_region_is_asked_anew_in_each_configuration() -> None:
    """The states that listen are the same ones before and after; whether `in_state` holds is not."""
    chart = chart_of("""
    name: r
    parallel states:
    - name: one
      initial: a
      states: [{name: a, transitions: [{event: E, guard: in_state('y'), target: b}]}, {name: b}]
    - name: two
      initial: x
      states: [{name: x, transitions: [{event: NEXT, target: y}]}, {name: y}]
    """)
    machine = Interpreter(chart)
    machine.send("E")
    assert "a" in machine.configuration
    machine.send("NEXT")
    machine.send("E")
    assert "b" in machine.configuration


def test_charts_bindings_and_tables_go_with_their_last_user() -> None:
    chart, names = chart_of(RING), bindings()
    interpreter = Interpreter(chart, names, input={"n": 0})
    interpreter.send("E").steps[0].transitions.clear()
    assert interpreter.statechart.root == "r"
    program = weakref.ref(interpreter._machine.program)
    alive = weakref.ref(chart), weakref.ref(names)
    del interpreter, chart, names
    gc.collect()
    assert [reference() for reference in (*alive, program)] == [None, None, None]


def test_threads_share_a_chart() -> None:
    chart, names = chart_of(RING), bindings()
    machines = [Interpreter(chart, names, input={"n": 0}) for _ in range(8)]
    machines[0]._machine.program.max_nodes = 5
    errors: list[BaseException] = []

    def run(machine: Interpreter) -> None:
        try:
            for _ in range(300):
                machine.send("E")
        except BaseException as error:  # noqa: BLE001 - told to the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(machine,)) for machine in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {(tuple(m.configuration), m.context.n) for m in machines} == {(("r", "s0"), 300)}


def test_a_machine_at_rest_allocates_no_queues() -> None:
    interpreter = Interpreter(parse_chart("statechart: {name: c, root state: {name: r}}"))
    interpreter.start()
    assert interpreter._machine.internal is None
    assert (
        interpreter._machine.agenda.queue,
        interpreter._machine.agenda.heap,
        interpreter._machine.agenda._timers,
    ) == (None, None, None)
    assert interpreter._observation is None
