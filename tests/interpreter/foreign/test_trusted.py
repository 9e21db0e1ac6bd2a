"""Python code in charts of sismic's kind, run only where the caller trusts it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sismic.code import PythonEvaluator
from sismic.exceptions import CodeEvaluationError, InvariantError
from sismic.io import import_from_yaml

from rawko.chart import parse_chart
from rawko.interpreter import ActionError, Interpreter, UntrustedCodeError
from tests.interpreter.tables import leaves, set_clock

ELEVATOR = """
statechart:
  name: counter
  preamble: |
    n = 0
    seen = []
    limit = 3
  root state:
    name: r
    initial: a
    contract: [{always: n <= limit}]
    states:
    - name: a
      on entry: seen.append(('entry', event.name))
      on exit: seen.append(('exit', event.name))
      contract: [{always: n >= __old__.n}, {after: received('E') or True}]
      transitions:
      - event: E
        guard: n < limit and event.by > 0
        action: |
          n += event.by
          send('UP', n=n)
          notify('counted', n=n)
      - {event: UP, guard: event.n == 3, target: b}
      - {event: FAIL, action: "n = 2; seen.append('lost'); 1 / 0"}
      - {event: LATER, action: "send('E', by=1, delay=2)"}
      - {guard: after(10), target: b}
      - {guard: idle(5) and n == 1, action: seen.append('idle'); n = 2}
    - name: b
      on entry: seen.append(('b', active('b'), time))
"""


def machine() -> Interpreter:
    return Interpreter.from_sismic(import_from_yaml(ELEVATOR), trusted=True)


def test_code_runs_only_where_it_is_trusted() -> None:
    statechart = import_from_yaml(ELEVATOR)
    with pytest.raises(UntrustedCodeError, match="holds Python code"):
        Interpreter.from_sismic(statechart)
    with pytest.raises(UntrustedCodeError):
        Interpreter(parse_chart(ELEVATOR, trusted=True))
    assert Interpreter.trusting(parse_chart(ELEVATOR, trusted=True)).start().receipt is None


def test_a_statechart_without_code_needs_no_trust() -> None:
    statechart = import_from_yaml("statechart: {name: s, root state: {name: r}}")
    assert Interpreter.from_sismic(statechart).start().configuration == ("r",)


def test_a_statechart_alone_is_not_taken() -> None:
    with pytest.raises(TypeError, match="from_sismic"):
        Interpreter(import_from_yaml(ELEVATOR))  # type: ignore[arg-type]


def test_actions_guards_and_events() -> None:
    interpreter = machine()
    heard: list[Any] = []
    interpreter.attach(lambda event: heard.append((event.name, event.n)) if event.name == "counted" else None)
    step = interpreter.send("E", by=1)
    assert [event.name for event in step.sent_events] == ["UP", "counted"]
    assert (interpreter.context["n"], heard) == (1, [("counted", 1)])
    interpreter.send("E", by=2)
    assert leaves(interpreter) == "b"  # UP was raised, and taken in the same macrostep
    assert interpreter.context["seen"] == [("entry", "rawko.init"), ("exit", "UP"), ("b", True, 0)]


def test_failures_undo_what_code_did() -> None:
    interpreter = machine()
    interpreter.start()
    before = {**interpreter.context, "seen": list(interpreter.context["seen"])}
    for _ in range(2):
        with pytest.raises(ActionError, match="division by zero") as caught:
            interpreter.send("FAIL")
        assert isinstance(caught.value.__cause__, CodeEvaluationError)
        assert dict(interpreter.context) == before


def test_contracts_of_code_roll_back() -> None:
    interpreter = machine()
    with pytest.raises(InvariantError) as caught:
        interpreter.send("E", by=7)
    assert caught.value.condition == "n <= limit"
    assert caught.value.obj.name == "r"
    assert interpreter.context["n"] == 0


def test_delayed_sends_of_code() -> None:
    interpreter = machine()
    interpreter.send("LATER")
    assert interpreter.next_due() == 2
    interpreter.advance(2)
    assert interpreter.context["n"] == 1


@pytest.mark.parametrize("delay", [0.25, 1, 3])
def test_a_delay_of_any_length_is_waited_for_and_none_is_not(delay: float) -> None:
    text = """
      statechart:
        name: c
        root state:
          name: r
          transitions:
          - {event: GO, action: "send('LATE', delay=%s); send('AT_ONCE')"}
          - {event: LATE, action: "seen.append(('late', time))"}
          - {event: AT_ONCE, action: "seen.append(('at once', time))"}
          on entry: seen = []
    """
    interpreter = Interpreter.from_sismic(import_from_yaml(text % delay), trusted=True)
    interpreter.send("GO")
    assert interpreter.context["seen"] == [("at once", 0)]
    assert interpreter.next_due() == delay
    interpreter.advance(delay)
    assert interpreter.context["seen"] == [("at once", 0), ("late", delay)]


def test_time_guards_wake_up_by_themselves() -> None:
    interpreter = machine()
    interpreter.send("E", by=1)
    assert interpreter.next_due() == 5
    steps = interpreter.advance(6)
    assert [step.time for step in steps] == [5]
    assert (interpreter.context["n"], interpreter.context["seen"][-1]) == (2, "idle")
    interpreter.advance(4)
    assert leaves(interpreter) == "b"


def test_can_asks_as_of_now_and_writes_nothing() -> None:
    text = """
statechart:
  name: s
  preamble: asked = []
  root state:
    name: r
    initial: a
    states:
    - {name: a, transitions: [{event: E, guard: asked.append(1) or after(5), target: b}]}
    - name: b
"""
    interpreter = Interpreter.from_sismic(import_from_yaml(text), trusted=True)
    interpreter.start()
    assert interpreter.can("E") is False
    set_clock(interpreter, 5)
    assert interpreter.can("E") is True
    assert (interpreter.context["asked"], interpreter.time) == ([], 0)
    assert interpreter.why_not("E") == ()


def test_snapshots_of_trusted_machines() -> None:
    text = ELEVATOR.replace("('entry', event.name)", "'entry'").replace("('exit', event.name)", "'exit'")
    statechart = import_from_yaml(text)
    original = Interpreter.from_sismic(statechart, trusted=True)
    original.send("E", by=1)
    original.advance(4)
    snapshot = json.loads(json.dumps(original.snapshot()))
    assert snapshot["entry"] == {"a": 0, "r": 0}
    assert snapshot["old"]["a"]["n"] == 0
    again = Interpreter.from_sismic(statechart, trusted=True)
    set_clock(again, 4)
    again.restore(snapshot)
    assert again.snapshot() == original.snapshot()
    for interpreter in (original, again):
        interpreter.advance(1)
        assert interpreter.context["seen"][-1] == "idle"
        with pytest.raises(InvariantError):
            interpreter.context["n"] = -1
            interpreter.execute_once()
        interpreter.context["n"] = 2
        interpreter.advance(5)
    assert again.snapshot()["configuration"] == original.snapshot()["configuration"] == ["r", "b"]
    assert snapshot["context"]["seen"] == ["entry"]  # not shared with what was restored from it


def test_an_idle_eventless_transition_stays_idle_after_a_restore() -> None:
    text = """
statechart:
  name: s
  root state:
    name: r
    transitions: [{guard: "True"}, {event: E}]
"""
    statechart = import_from_yaml(text)
    original = Interpreter.from_sismic(statechart, trusted=True)
    original.execute()
    again = Interpreter.from_sismic(statechart, trusted=True)
    again.restore(original.snapshot())
    assert again.execute() == original.execute() == []
    again.queue("E")
    step = again.execute_once()
    assert step is not None and len(step.steps) == 2


class Foreign(PythonEvaluator):
    """Acts where no code stands, too."""

    def execute_on_entry(self, state: Any) -> Any:
        self._context.setdefault("entered", []).append(state.name)
        return super().execute_on_entry(state)


def test_a_foreign_evaluator_is_asked_for_every_state() -> None:
    statechart = import_from_yaml(
        "statechart: {name: s, root state: {name: r, initial: a, states: [{name: a, on entry: x = 1}]}}"
    )
    interpreter = Interpreter.from_sismic(statechart, evaluator_klass=Foreign)
    interpreter.start()
    assert dict(interpreter.context) == {"entered": ["r", "a"], "x": 1}


def test_events_queued_while_the_evaluator_loads_survive() -> None:
    class Eager(PythonEvaluator):
        def execute_statechart(self, statechart: Any) -> None:
            self._interpreter.queue("E")  # type: ignore[attr-defined]

    statechart = import_from_yaml("statechart: {name: s, root state: {name: r}}")
    interpreter = Interpreter.from_sismic(statechart, evaluator_klass=Eager)
    assert [step.event.name for step in interpreter.execute() if step.event] == ["E"]
