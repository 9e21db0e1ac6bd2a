"""Invoked and spawned actors as effects and events (SEMANTICS: invocations)."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.interpreter import (
    ActionError,
    Bindings,
    Interpreter,
    InvocationError,
    Receipt,
    StartInvocation,
    StopInvocation,
    Updates,
    assign,
    spawn,
    stop,
    thaw,
)
from rawko.interpreter.clocks import SimulatedClock
from rawko.interpreter.running.replay import ReplayClock, replay_step
from tests.interpreter.tables import chart_of

CHART = """
name: r
initial: idle
states:
- name: idle
  transitions: [{event: GO, target: busy}, {event: PASS, target: passing}]
- name: passing
  invoke: {src: work, id: passing_work, on error: idle}
  always: busy
- name: busy
  invoke:
    id: fetch
    src: work
    input: fetch_input
    timeout: 10s
    on done: {target: idle, action: keep}
    on error: {guard: expected, target: idle, action: keep_error}
  transitions: [{event: PAGE, action: keep_page}, {event: STOP, target: idle}, {event: AGAIN, target: busy}]
"""


def bindings() -> Bindings:
    found = Bindings()
    found.add("actor", "work", None)
    found.add("input", "fetch_input", lambda context, event: {"by": event.name, "n": context.n})
    found.add("action", "keep", lambda context, event: assign(result=event.output))
    found.add("action", "keep_error", lambda context, event: assign(result=event.error))
    found.add("action", "keep_page", lambda context, event: assign(result=event.page))
    found.add("guard", "expected", lambda context, event: event.error["code"] in ("lost", "timeout"))
    return found


@pytest.fixture
def busy() -> Interpreter:
    interpreter = Interpreter(chart_of(CHART), bindings(), input={"n": 1, "result": None})
    step = interpreter.send("GO")
    assert step.effects == (StartInvocation("fetch", "work", {"by": "GO", "n": 1}, 1, state="busy"),)
    return interpreter


def test_the_result_comes_as_an_event(busy: Interpreter) -> None:
    assert busy.complete_invocation("fetch", 1, {"pages": [1]}) is True
    (step,) = busy.execute()
    assert step.receipt is Receipt.TAKEN
    assert step.effects == ()  # it has ended by itself: there is nothing to stop
    assert busy.context["result"] == {"pages": [1]}
    assert (busy.matches("idle"), dict(busy.invocations), busy.next_due()) == (True, {}, None)


def test_a_state_that_is_only_passed_through_invokes_nothing() -> None:
    interpreter = Interpreter(chart_of(CHART), bindings(), input={"n": 1})
    step = interpreter.send("PASS")
    assert [effect.id for effect in step.effects if isinstance(effect, StartInvocation)] == ["fetch"]


def test_the_input_is_computed_at_the_end_of_the_macrostep_with_the_entering_event() -> None:
    names = bindings()
    names.add("action", "later", lambda context, event: assign(n=99))
    chart = chart_of(
        """
name: r
initial: idle
states:
- {name: idle, transitions: [{event: GO, target: busy}]}
- name: busy
  invoke: {src: work, input: fetch_input, on error: idle}
  on entry: {raise: LATER}
  transitions: [{event: LATER, action: later}]
"""
    )
    step = Interpreter(chart, names, input={"n": 1}).send("GO")
    assert [e.input for e in step.effects if isinstance(e, StartInvocation)] == [{"by": "GO", "n": 99}]


def test_leaving_stops_and_entering_anew_gives_a_new_number(busy: Interpreter) -> None:
    step = busy.send("AGAIN")
    assert [type(effect).__name__ for effect in step.effects] == ["StopInvocation", "StartInvocation"]
    assert [effect.number for effect in step.effects] == [1, 2]  # type: ignore[union-attr]
    assert busy.complete_invocation("fetch", 1, "late") is False
    assert busy.complete_invocation("fetch", 2, "in time") is True
    busy.execute()
    assert busy.context["result"] == "in time"


def test_a_result_that_is_queued_when_the_state_is_left_is_dropped(busy: Interpreter) -> None:
    busy.queue("AGAIN")
    assert busy.complete_invocation("fetch", 1, "late") is True
    assert [step.event.name for step in busy.execute() if step.event] == ["AGAIN"]
    assert busy.matches("busy")


def test_events_of_a_running_actor(busy: Interpreter) -> None:
    assert busy.deliver("fetch", 1, "PAGE", {"page": {"n": 1}}) is True
    assert busy.deliver("fetch", 7, "PAGE", {"page": {"n": 2}}) is False
    busy.execute()
    assert busy.context["result"].n == 1
    assert list(busy.invocations) == ["fetch"]


def test_a_timeout_is_an_error_and_stops_the_actor(busy: Interpreter) -> None:
    assert busy.next_due() == 10
    (step,) = busy.advance(10)
    assert step.effects == (StopInvocation("fetch", 1),)
    assert busy.context["result"].code == "timeout"
    assert busy.context["result"].message == "actor 'fetch' did not finish within 10 s"


@pytest.mark.parametrize("code", ["timeout", "lost"])
def test_what_ended_an_invocation_as_its_time_was_up_is_replayed_as_it_was(code: str) -> None:
    """The timeout that the machine has set itself, or an error that came just before and was taken just then."""
    clock, later = SimulatedClock(), ReplayClock()
    recorded = Interpreter(chart_of(CHART), bindings(), input={"n": 1, "result": None}, clock=clock)
    recorded.send("GO")
    if code == "lost":
        clock.time = 9.9
        recorded.fail_invocation("fetch", 1, {"code": "lost", "message": "gone", "category": "tool_failure"})
        clock.time = 10
        step = recorded.execute_once()
    else:
        (step,) = recorded.advance(10)
    assert step is not None and step.event is not None
    replayed = Interpreter(chart_of(CHART), bindings(), input={"n": 1, "result": None}, clock=later)
    replay_step(replayed, None)
    replay_step(replayed, {"name": "GO", "data": {}})
    later.time = 10
    replay_step(replayed, {"name": step.event.name, "data": thaw(step.event.data)})
    assert replayed.context["result"].code == recorded.context["result"].code == code
    assert (replayed.configuration, replayed.next_due()) == (recorded.configuration, recorded.next_due())
    assert replayed.execute_once() is None


def test_the_timeout_is_withdrawn_with_the_end(busy: Interpreter) -> None:
    busy.fail_invocation("fetch", 1, {"code": "lost", "message": "gone"})
    busy.execute()
    assert (busy.next_due(), busy.matches("idle")) == (None, True)


@pytest.mark.parametrize("is_timeout", [False, True])
def test_an_error_nobody_handles(is_timeout: bool) -> None:
    chart = chart_of(
        "name: r\ninitial: b\nstates: [{name: b, invoke: {src: work, timeout: 1s}, transitions: [{event: '*'}]}]"
    )
    interpreter = Interpreter(chart, bindings())
    interpreter.start()
    with pytest.raises(InvocationError, match=r"actor 'work' failed and no active state handles 'error\.invoke\.work'"):
        if is_timeout:
            interpreter.advance(1)
        else:
            interpreter.fail_invocation("work", 1, {"code": "bad", "message": "no"})
            interpreter.execute()
    assert dict(interpreter.invocations) == {}
    assert interpreter.next_due() is None
    assert interpreter.execute() == []


def test_an_error_denied_by_its_guard_is_unhandled_too(busy: Interpreter) -> None:
    busy.fail_invocation("fetch", 1, {"code": "bad", "message": "no"})
    with pytest.raises(InvocationError) as caught:
        busy.execute()
    assert (caught.value.id, caught.value.error) == ("fetch", {"code": "bad", "message": "no"})
    assert busy.matches("busy")


def test_a_result_nobody_waits_for_is_just_consumed() -> None:
    chart = chart_of("name: r\ninitial: b\nstates: [{name: b, invoke: {src: work}}]")
    interpreter = Interpreter(chart, bindings())
    interpreter.start()
    interpreter.complete_invocation("work", 1)
    (step,) = interpreter.execute()
    assert (step.receipt, dict(interpreter.invocations)) == (Receipt.UNKNOWN, {})


def test_an_input_that_fails_rolls_the_step_back() -> None:
    names = bindings().replaced("input", {"fetch_input": lambda context, event: 1 / 0})
    interpreter = Interpreter(chart_of(CHART), names, input={"n": 1})
    interpreter.start()
    before = interpreter.snapshot()
    with pytest.raises(ActionError, match="fetch_input") as caught:
        interpreter.send("GO")
    assert (caught.value.kind, caught.value.where) == ("input", "state 'busy' (invoke fetch)")
    assert interpreter.snapshot() == {**before, "seq": 1}


def spawning() -> Interpreter:
    names = bindings()

    @names.action
    def begin(context: Any, event: Any) -> Updates:
        return spawn("work", id=event.id, input={"n": 1})

    @names.action
    def end(context: Any, event: Any) -> Updates:
        return stop(event.id)

    chart = chart_of(
        """
name: r
transitions: [{event: BEGIN, action: begin}, {event: END, action: end}, {event: done.invoke.a, action: keep}]
"""
    )
    return Interpreter(chart, names)


def test_spawned_actors_live_until_they_end_or_are_stopped() -> None:
    interpreter = spawning()
    step = interpreter.send("BEGIN", id="a")
    assert step.effects == (StartInvocation("a", "work", {"n": 1}, 1),)
    interpreter.send("BEGIN", id="b")
    assert interpreter.send("END", id="b").effects == (StopInvocation("b", 2),)
    assert interpreter.send("END", id="b").effects == ()
    interpreter.complete_invocation("a", 1, 5)
    interpreter.execute()
    assert (interpreter.context["result"], dict(interpreter.invocations)) == (5, {})


def test_an_id_is_spawned_once_at_a_time() -> None:
    interpreter = spawning()
    interpreter.send("BEGIN", id="a")
    with pytest.raises(ActionError, match="an actor with id 'a' is running already"):
        interpreter.send("BEGIN", id="a")
