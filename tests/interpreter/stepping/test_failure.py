"""Failures: everything as before, `error.execution`, errors for the caller (SEMANTICS: failure)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rawko.interpreter import (
    ActionError,
    Bindings,
    Interpreter,
    Receipt,
    SendTo,
    Updates,
    append,
    assign,
    raise_,
    send,
    spawn,
)
from tests.interpreter.tables import Log, chart_of, leaves, machine, set_clock

CHART = """
name: r
initial: p
states:
- name: p
  initial: a
  on exit: note(what='left p')
  after: {10s: x}
  invoke: {src: work, on error: x}
  states:
  - {name: a, transitions: [{event: N, target: b}]}
  - {name: b}
  - {name: h, type: deep history}
  transitions: [{event: E, target: x, action: change}]
- name: x
  on entry: [change, {FAIL}]
  transitions: [{event: BACK, target: h}]
"""
HANDLING = "transitions: [{event: error.execution, target: broken, action: keep}]\n"


def boom(context: Any, event: Any) -> Any:
    raise LookupError("no such thing")


def change(context: Any, event: Any) -> Updates:
    return (
        assign(n=context.n + 1, new=True),
        append("items", event.name),
        raise_("RAISED"),
        send("SENT"),
        send("LATER", delay_ms=5, id="later"),
        send("OUT", to="parent"),
        spawn("work", id=f"spawned{context.n}"),
    )


def names(**more: Callable[..., Any]) -> Bindings:
    found = Bindings()
    found.add("actor", "work", None)
    found.action(change)
    found.add("action", "boom", boom)
    found.add("action", "keep", lambda context, event: assign(failure=dict(event.data)))
    found.add("guard", "bad", boom)
    found.add("output", "bad_output", boom)
    found.add("input", "bad_input", boom)
    found.add("delay", "bad_delay", boom)
    return found


def start(text: str, bindings: Bindings, **keys: Any) -> Interpreter:
    interpreter = machine(text, bindings, n=0, items=[], failure=None, **keys)
    interpreter.send("N")
    return interpreter


@pytest.mark.parametrize("name", ["boom", "returns"])
def test_everything_is_as_before_but_for_the_event(name: str) -> None:
    bindings = names()
    bindings.add("action", "returns", lambda context, event: "nonsense")
    interpreter = start(CHART.replace("{FAIL}", name), bindings)
    interpreter.queue("AFTER_IT")
    before = interpreter.snapshot()
    interpreter.queue("E")
    set_clock(interpreter, 1.0)
    with pytest.raises(ActionError) as caught:
        interpreter.execute()
        interpreter.execute()
    error = caught.value
    assert (error.kind, error.where, error.function) == ("action", "state 'x' (on entry)", name)
    assert error.event is not None and error.event.name == "E"
    assert error.position is not None and error.position.line > 1
    assert {**interpreter.snapshot(), "now": 0, "seq": 0} == {**before, "external": [], "now": 0, "seq": 0}
    assert interpreter.execute() == []


def test_the_message_says_what_was_returned_and_what_is_accepted() -> None:
    bindings = names()
    bindings.add("action", "returns", lambda context, event: "nonsense")
    interpreter = start(CHART.replace("{FAIL}", "returns"), bindings)
    with pytest.raises(ActionError, match=r"state 'x' \(on entry\).*returned 'nonsense' \(str\); accepted: None"):
        interpreter.send("E")


PLACES = {
    "guard": ("transitions: [{event: E, guard: bad}]", "guard", "transition r -> (no target)"),
    "transition action": ("transitions: [{event: E, action: boom}]", "action", "transition r -> (no target)"),
    "eventless guard": (
        """initial: a
states:
- {name: a, transitions: [{event: E, target: b}]}
- {name: b, always: {guard: bad, target: a}}""",
        "guard",
        "transition b -> a",
    ),
    "exit": (
        "initial: a\nstates: [{name: a, on exit: boom, transitions: [{event: E, target: a}]}]",
        "action",
        "state 'a' (on exit)",
    ),
    "output": (
        """initial: p
states:
- {name: p, initial: a, states: [{name: a, transitions: [{event: E, target: f}]},
   {name: f, type: final, output: bad_output}]}""",
        "output",
        "state 'f' (output)",
    ),
    "output of the root": (
        "initial: a\noutput: bad_output\n"
        "states: [{name: a, transitions: [{event: E, target: f}]}, {name: f, type: final}]",
        "output",
        "state 'r' (output)",
    ),
    "input": (
        """initial: a
states:
- {name: a, transitions: [{event: E, target: b}]}
- {name: b, invoke: {src: work, input: bad_input, on error: a}}""",
        "input",
        "state 'b' (invoke work)",
    ),
    "delay": (
        "initial: a\nstates: [{name: a, transitions: [{event: E, target: b}]}, {name: b, after: {bad_delay: a}}]",
        "delay",
        "state 'b' (after)",
    ),
    "exit at the end": (
        "initial: a\non exit: boom\nstates: [{name: a, transitions: [{event: E, target: f}]}, {name: f, type: final}]",
        "action",
        "state 'r' (on exit)",
    ),
}


@pytest.mark.parametrize(("text", "kind", "where"), PLACES.values(), ids=PLACES)
def test_places_where_it_fails(text: str, kind: str, where: str) -> None:
    interpreter = Interpreter(chart_of(f"name: r\n{text}"), names())
    interpreter.start()
    before = interpreter.snapshot()
    with pytest.raises(ActionError, match="LookupError: no such thing") as caught:
        interpreter.send("E")
    assert (caught.value.kind, caught.value.where) == (kind, where)
    assert isinstance(caught.value.__cause__, LookupError)
    assert interpreter.snapshot() == {**before, "seq": 1}
    assert interpreter.final is False


def test_a_failed_start_leaves_the_machine_unstarted() -> None:
    bindings = names()
    calls: list[int] = []

    @bindings.action
    def first_time(context: Any, event: Any) -> Updates:
        calls.append(1)
        if len(calls) == 1:
            raise LookupError("not yet")
        return assign(ok=True)

    interpreter = Interpreter(chart_of("name: r\non entry: [assign: {n: 1}, first_time]"), bindings)
    with pytest.raises(ActionError):
        interpreter.start()
    assert (interpreter.is_started, interpreter.configuration, dict(interpreter.context)) == (False, [], {})
    interpreter.start()
    assert dict(interpreter.context) == {"n": 1, "ok": True}


def test_the_machine_may_handle_it() -> None:
    text = CHART.replace("{FAIL}", "boom") + "- name: broken\n" + HANDLING
    interpreter = start(text, names())
    log = Log(interpreter)
    log()
    step = interpreter.send("E", n=7)
    assert step.receipt is Receipt.FAILED
    assert log() == "-b -p left p >r +broken"  # of the failed way nothing is left
    assert [m.event.name if m.event else None for m in step.steps] == ["E", "error.execution"]
    failure = interpreter.context["failure"]
    assert {key: failure[key] for key in ("kind", "where", "function", "message")} == {
        "kind": "action",
        "where": "state 'x' (on entry)",
        "function": "boom",
        "message": "LookupError: no such thing",
    }
    assert failure["event"] == {"name": "E", "data": {"n": 7}}
    assert (interpreter.context["n"], list(interpreter.context["items"])) == (0, [])
    assert not any(isinstance(effect, SendTo) for effect in step.effects)


def test_a_wildcard_does_not_name_it() -> None:
    interpreter = Interpreter(chart_of("name: r\ntransitions: [{event: E, action: boom}, {event: '*'}]"), names())
    with pytest.raises(ActionError):
        interpreter.send("E")


def test_handled_is_only_what_an_enabled_transition_handles() -> None:
    bindings = names()
    bindings.add("guard", "never", lambda context, event: False)
    text = "name: r\ntransitions: [{event: E, action: boom}, {event: error.execution, guard: never}]"
    interpreter = Interpreter(chart_of(text), bindings)
    interpreter.start()
    before = interpreter.snapshot()
    with pytest.raises(ActionError):
        interpreter.send("E")
    assert interpreter.snapshot() == {**before, "seq": 1}


@pytest.mark.parametrize("handler", ["{event: error.execution, action: boom}", "{event: error.execution, guard: bad}"])
def test_a_handler_that_fails_too(handler: str) -> None:
    interpreter = Interpreter(chart_of(f"name: r\ntransitions: [{{event: E, action: boom}}, {handler}]"), names())
    interpreter.start()
    before = interpreter.snapshot()
    with pytest.raises(ActionError) as caught:
        interpreter.send("E")
    assert caught.value.event is not None and caught.value.event.name == "E"
    assert "error.execution was tried, and failed too" in caught.value.__notes__[0]
    assert interpreter.snapshot() == {**before, "seq": 1}


def test_a_failure_among_eventless_steps_undoes_the_whole_macrostep() -> None:
    text = """
name: r
initial: a
states:
- {name: a, transitions: [{event: E, target: b}]}
- {name: b, always: {target: c, action: change}}
- {name: c, always: {target: a, action: boom}}
"""
    interpreter = machine(text, names(), n=0, items=[])
    interpreter.start()
    before = interpreter.snapshot()
    with pytest.raises(ActionError):
        interpreter.send("E")
    assert interpreter.snapshot() == {**before, "seq": 1}
    assert leaves(interpreter) == "a"


def test_a_failure_while_a_result_is_handled_keeps_the_result_consumed_for_the_handler() -> None:
    text = """
name: r
initial: a
transitions: [{event: error.execution, target: broken}]
states:
- {name: a, invoke: {src: work, timeout: 1s, on done: {target: b, action: boom}, on error: b}}
- {name: b}
- {name: broken}
"""
    interpreter = Interpreter(chart_of(text), names())
    interpreter.start()
    interpreter.complete_invocation("work", 1)
    (step,) = interpreter.execute()
    assert (step.receipt, leaves(interpreter), dict(interpreter.invocations)) == (Receipt.FAILED, "broken", {})
    assert (step.effects, interpreter.next_due()) == ((), None)


def test_an_event_that_failed_stays_the_current_one() -> None:
    """As it stays consumed: what looks at the machine between two steps, as an invariant does, is given it."""
    bindings = names()
    asked: list[str] = []

    def is_asked(context: Any, event: Any) -> bool:
        asked.append(event.name)
        return True

    bindings.add("guard", "asked", is_asked)
    chart = chart_of("name: r\ncontract: [{always: asked}]\ntransitions: [{event: FIRST}, {event: E, action: boom}]")
    interpreter = Interpreter(chart, bindings)
    interpreter.send("FIRST")
    with pytest.raises(ActionError):
        interpreter.send("E")
    asked.clear()
    assert interpreter.execute_once() is None
    assert asked == ["E"]


def test_events_queued_while_it_failed_survive() -> None:
    bindings = names()

    @bindings.action
    def queue_and_fail(context: Any, event: Any) -> Updates:
        interpreter.queue("F")
        raise LookupError("after queueing")

    interpreter = Interpreter(
        chart_of("name: r\ntransitions: [{event: E, action: queue_and_fail}, {event: F}]"), bindings
    )
    with pytest.raises(ActionError):
        interpreter.send("E")
    assert [step.event.name for step in interpreter.execute() if step.event] == ["F"]


def test_an_interrupt_is_not_an_error_of_the_chart() -> None:
    bindings = Bindings()

    @bindings.action
    def interrupted(context: Any, event: Any) -> Updates:
        raise KeyboardInterrupt

    interpreter = Interpreter(
        chart_of("name: r\ntransitions: [{event: E, action: [assign: {n: 1}, interrupted]}, {event: error.execution}]"),
        bindings,
    )
    with pytest.raises(KeyboardInterrupt):
        interpreter.send("E")
    assert dict(interpreter.context) == {}
    assert interpreter.send("F").receipt is Receipt.UNKNOWN
