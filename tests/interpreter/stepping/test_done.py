"""Done events, their order and outputs, and how a machine ends (SEMANTICS: entries, root done)."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.interpreter import Bindings, Interpreter, Receipt, StopInvocation, Updates, assign, raise_, send, spawn
from tests.interpreter.tables import Case, Log, chart_of, leaves, machine

PARALLEL = """
name: r
initial: p
states:
- name: p
  on done: {target: x}
  parallel states:
  - name: a
    initial: a1
    on done: {action: [{raise: A_DONE}]}
    states: [{name: a1, transitions: [{event: A, target: af}, {event: BOTH, target: af}]}, {name: af, type: final}]
  - name: b
    initial: b1
    on done: {}
    states: [{name: b1, transitions: [{event: B, target: bf}, {event: BOTH, target: bf}]}, {name: bf, type: final}]
- {name: x}
"""

CASES = [
    Case(
        "a compound state is done as soon as its final child is entered",
        """
name: r
initial: p
states:
- name: p
  initial: a
  on done: x
  states: [{name: a, transitions: [{event: E, target: f}]}, {name: f, type: final}]
- {name: x}
""",
        "+r +p +a",
        (("E", "-a >a +f -f -p >p +x", "x"),),
    ),
    Case(
        "a parallel state is done when all its regions are",
        PARALLEL,
        "+r +p +a +a1 +b +b1",
        (("A", "-a1 >a1 +af >a", "af b1"), ("B", "-b1 >b1 +bf >b -bf -b -af -a -p >p +x", "x")),
    ),
    Case(
        "both at once: each region's event in its place, the parallel state's once, last",
        PARALLEL,
        "+r +p +a +a1 +b +b1",
        (("BOTH", "-b1 -a1 >a1 >b1 +af +bf >a >b -bf -b -af -a -p >p +x", "x"),),
    ),
    Case(
        "being done goes upward through parallel states only",
        """
name: r
initial: o
states:
- name: o
  on done: never
  parallel states:
  - name: p
    on done: {}
    parallel states:
    - {name: a, initial: a1, states: [{name: a1, transitions: [{event: E, target: af}]}, {name: af, type: final}]}
    - {name: b, initial: b1, states: [{name: b1, transitions: [{event: E, target: bf}]}, {name: bf, type: final}]}
  - name: q
    initial: q1
    states: [{name: q1, transitions: [{event: F, target: qf}]}, {name: qf, type: final}]
- {name: never}
""",
        "+r +o +p +a +a1 +b +b1 +q +q1",
        (
            ("E", "-b1 -a1 >a1 >b1 +af +bf >p", "af bf q1"),
            ("F", "-q1 >q1 +qf -qf -q -bf -b -af -a -p -o >o +never", "never"),
        ),
    ),
    Case(
        "a region that is final itself is done at once",
        """
name: r
initial: p
states:
- name: p
  on done: x
  parallel states:
  - {name: f, type: final}
  - {name: a, initial: a1, states: [{name: a1, transitions: [{event: E, target: af}]}, {name: af, type: final}]}
- {name: x}
""",
        "+r +p +f +a +a1",
        (("E", "-a1 >a1 +af -af -a -f -p >p +x", "x"),),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    case.play()


def test_done_events_carry_the_output_of_the_final_state_and_the_parallel_state_none() -> None:
    seen: list[tuple[str, Any]] = []
    bindings = Bindings()
    bindings.add("action", "see", lambda context, event: seen.append((event.name, event.output)))
    bindings.add("output", "count", lambda context, event: {"event": event.name, "n": len(context.log)})
    interpreter = machine(
        """
name: r
initial: p
states:
- name: p
  on done: {action: see}
  parallel states:
  - name: a
    initial: a1
    on done: {action: see}
    states: [{name: a1, transitions: [{event: E, target: af}]}, {name: af, type: final, output: count}]
  - name: b
    initial: b1
    on done: {action: see}
    states: [{name: b1, transitions: [{event: E, target: bf}]}, {name: bf, type: final, output: {literal: 1}}]
""",
        bindings,
    )
    interpreter.send("E")
    # Noted when the output is computed: start (6), two exits, two actions, the entry of `af`.
    assert seen == [("done.state.a", {"event": "E", "n": 11}), ("done.state.b", {"literal": 1}), ("done.state.p", None)]


FINISHING = """
name: r
initial: p
states:
- name: p
  initial: a
  on exit: [{raise: LOST}, {send: {event: SENT, to: parent}}]
  invoke: {src: work, on error: a}
  after: {1s: a}
  states: [{name: a, transitions: [{event: SAVE}]}]
  transitions: [{event: E, target: f}]
- {name: f, type: final, output: final_output}
"""


def finishing_bindings() -> Bindings:
    bindings = Bindings()
    bindings.add("actor", "work", None)
    bindings.add("output", "final_output", lambda context, event: {"by": event.name, "seen": len(context.log)})
    return bindings


def test_the_end_of_the_machine() -> None:
    interpreter = machine(FINISHING, finishing_bindings())
    log = Log(interpreter)
    interpreter.start()
    log()
    interpreter.queue("LATER", delay=5)
    interpreter.queue("E", "NEVER")
    step = interpreter.execute_once()
    assert step is not None
    assert log() == "-a -p >p +f -f -r"  # the exits of what stays active come last, in a step of their own
    assert [(m.entered_states, m.exited_states) for m in step.steps] == [(["f"], ["a", "p"]), ([], [])]
    assert interpreter.final is True
    assert interpreter.configuration == ["r", "f"]
    assert interpreter.output == {"by": "E", "seen": 7}  # computed when the final state was entered
    assert [e for e in step.effects if isinstance(e, StopInvocation)] == [StopInvocation("work", 1)]
    assert interpreter.execute_once() is None
    assert interpreter.next_due() is None
    assert interpreter.send("E").receipt is Receipt.DONE
    assert interpreter.snapshot()["timers"] == interpreter.snapshot()["external"] == []


def test_the_roots_own_output_wins_and_sees_what_exit_code_did() -> None:
    bindings = Bindings()
    bindings.add("action", "close", lambda context, event: assign(closed=True))
    bindings.add("output", "report", lambda context, event: {"closed": context.get("closed")})
    chart = chart_of(
        """
name: r
initial: a
output: report
on exit: close
states: [{name: a, transitions: [{event: E, target: f}]}, {name: f, type: final, output: {ignored: 1}}]
"""
    )
    interpreter = Interpreter(chart, bindings)
    interpreter.send("E")
    assert interpreter.output == {"closed": True}


def test_a_parallel_root_is_done_when_its_regions_are() -> None:
    interpreter = machine(
        """
name: p
parallel states:
- {name: a, initial: a1, states: [{name: a1, transitions: [{event: A, target: af}]}, {name: af, type: final}]}
- {name: b, initial: b1, states: [{name: b1, transitions: [{event: B, target: bf}]}, {name: bf, type: final}]}
"""
    )
    interpreter.send("A")
    assert interpreter.final is False
    interpreter.send("B")
    assert (interpreter.final, leaves(interpreter)) == (True, "af bf")


def test_a_machine_may_be_done_at_its_start() -> None:
    interpreter = machine("name: r\ninitial: f\nstates: [{name: f, type: final, output: {n: 1}}]")
    interpreter.start()
    assert (interpreter.final, interpreter.output) == (True, {"n": 1})


def test_each_output_is_computed_once() -> None:
    computed: list[str] = []
    bindings = Bindings()
    bindings.add("output", "once", lambda context, event: computed.append(event.name))
    interpreter = machine(
        """
name: p
parallel states:
- name: a
  initial: a1
  states: [{name: a1, transitions: [{event: E, target: af}]}, {name: af, type: final, output: once}]
""",
        bindings,
    )
    interpreter.send("E")
    assert (interpreter.final, computed) == (True, ["E"])


def test_nothing_begins_while_the_machine_ends() -> None:
    def last_words(context: object, event: object) -> Updates:
        return raise_("X"), send("Y", delay_ms=1), send("Z"), spawn("work", id="w")

    bindings = finishing_bindings()
    bindings.action(last_words)
    chart = chart_of("name: r\ninitial: f\non exit: last_words\nstates: [{name: f, type: final}]")
    interpreter = Interpreter(chart, bindings)
    step = interpreter.start()
    assert step.effects == ()
    assert dict(interpreter.invocations) == {}
    assert interpreter.next_due() is None
    assert interpreter.execute() == []
