"""`errors: scxml`: a failing action ends its block and is an event; a failing guard is false; nothing is undone."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.chart import ChartDefinitionError, parse_chart
from rawko.interpreter import ActionError, Bindings, EventlessCycleError, Interpreter, assign
from rawko.interpreter.data.effects import LogLine, SendTo

BINDINGS = Bindings()


@BINDINGS.action
def note(context: Any, event: Any, of: str = "") -> Any:
    return assign(seen=[*context.seen, of or event.name])


@BINDINGS.action
def fails(context: Any, event: Any) -> Any:
    raise ValueError("no luck")


@BINDINGS.guard
def broken(context: Any, event: Any) -> bool:
    raise KeyError("nothing")


@BINDINGS.delay
def no_delay(context: Any, event: Any) -> float:
    return -1


@BINDINGS.output
def no_output(context: Any, event: Any) -> Any:
    return object()


@BINDINGS.input
def no_input(context: Any, event: Any) -> Any:
    raise ValueError("no input")


@BINDINGS.actor
def work(input: Any) -> None: ...


def machine(states: str, *, errors: str = "scxml", more: str = "") -> Interpreter:
    chart = parse_chart(
        f"statechart: {{name: t, errors: {errors}, root state: {{name: r, initial: a, states: {states}{more}}}}}"
    )
    made = Interpreter(chart, BINDINGS, input={"seen": []})
    made.execute()
    return made


ACTIONS = "[note(of='1'), fails, note(of='2')]"


def test_the_block_ends_and_what_it_did_stays() -> None:
    made = machine(
        f"[{{name: a, transitions: [{{event: GO, target: b, action: {ACTIONS}}}]}},"
        " {name: b, on entry: note(of='in'), transitions: [{event: error.execution, action: note}]}]"
    )
    step = made.send("GO")
    assert step.receipt is not None and step.receipt.is_taken
    assert made.matches("b")
    assert made.context.seen == ["1", "in", "error.execution"]


def test_each_block_ends_alone() -> None:
    made = machine("[{name: a, on entry: [[note(of='1'), fails, note(of='2')], [note(of='3')], note(of='4')]}]")
    assert made.context.seen == ["1", "3", "4"]


def test_what_a_state_starts_after_a_delay_or_an_input_that_fails_is_started() -> None:
    made = machine(
        "[{name: a, after: {no_delay: b, 2s: b},"
        " invoke: [{src: work, id: one, input: no_input}, {src: work, id: two},"
        " {src: work, id: three, timeout: no_delay}, {src: work, id: four}],"
        " transitions: [{event: error.execution, action: note}]}, {name: b}]"
    )
    assert made.context.seen == ["error.execution"] * 3
    assert list(made.invocations) == ["two", "four"]
    made.advance(2)
    assert made.matches("b")


def test_the_event_says_what_failed_and_where() -> None:
    found: list[Any] = []
    made = machine("[{name: a, transitions: [{event: GO, action: fails}]}]")
    made.attach(lambda event: found.append(event.event) if event.name == "event sent" else None)
    step = made.send("GO")
    (line,) = step.effects
    assert isinstance(line, LogLine)
    assert line.message.startswith("error.execution: action 'fails' of transition a ->")
    assert line.level == "warning"
    (error,) = [event for event in found if event.name == "error.execution"]
    assert error.data["kind"] == "action"
    assert error.data["function"] == "fails"
    assert "no luck" in error.data["message"]
    assert error.data["event"].name == "GO"


def test_without_the_key_everything_is_undone() -> None:
    made = machine(
        f"[{{name: a, transitions: [{{event: GO, target: b, action: {ACTIONS}}}]}}, {{name: b}}]", errors="rollback"
    )
    with pytest.raises(ActionError):
        made.send("GO")
    assert made.matches("a")
    assert made.context.seen == []


def test_a_failing_guard_is_false_and_told() -> None:
    made = machine(
        "[{name: a, transitions: [{event: GO, guard: broken, target: b}, {event: GO, target: c},"
        " {event: error.execution, action: note}]}, {name: b},"
        " {name: c, transitions: [{event: error.execution, action: note}]}]"
    )
    made.send("GO")
    assert made.matches("c")
    assert made.context.seen == ["error.execution"]


def test_a_failing_guard_of_an_eventless_transition_is_told_once() -> None:
    made = machine(
        "[{name: a, always: {guard: broken, target: b}, transitions: [{event: error.*, action: note}]}, {name: b}]"
    )
    assert made.context.seen == ["error.execution"]
    made.send("OTHER")
    assert made.context.seen == ["error.execution", "error.execution"]


def test_an_eventless_cycle_is_still_an_error() -> None:
    with pytest.raises(EventlessCycleError):
        machine("[{name: a, always: b}, {name: b, always: a}]")


def test_an_eventless_cycle_is_named_where_a_guard_fails_in_it() -> None:
    """The guard is asked each time round, and told once: the loop is one from then on."""
    with pytest.raises(EventlessCycleError) as caught:
        machine("[{name: a, always: [{guard: broken, target: c}, b]}, {name: b, always: a}, {name: c}]")
    assert (caught.value.limit, len(caught.value.loop)) == (None, 2)


@pytest.mark.parametrize(
    "inside",
    [
        "after: {no_delay: b}",
        "invoke: {src: work, input: no_input, on error: b}",
        "initial: x, states: [{name: x, type: final, output: no_output}]",
    ],
)
def test_delays_inputs_and_outputs_that_fail_are_told(inside: str) -> None:
    made = machine(f"[{{name: a, {inside}, transitions: [{{event: error.execution, action: note}}]}}, {{name: b}}]")
    assert made.matches("a")
    assert made.context.seen == ["error.execution"]
    assert not made.invocations
    made.snapshot()  # nothing waits inside


def test_actors_that_fail_are_told_as_scxml_has_it() -> None:
    made = machine(
        "[{name: a, invoke: {src: work, on done: a}, transitions: [{event: error.communication, target: b}]},"
        " {name: b}]"
    )
    (running,) = made.invocations.values()
    made.fail_invocation("work", running.number, {"message": "gone"})
    made.execute()
    assert made.matches("b")


def test_what_an_actor_sent_before_its_state_was_left_is_heard() -> None:
    made = machine(
        "[{name: a, invoke: {src: work, on done: b}, transitions: [{event: NEWS, target: c}]}, {name: b},"
        " {name: c, transitions: [{event: done.invoke.work, action: note}]}]"
    )
    (running,) = made.invocations.values()
    made.deliver("work", running.number, "NEWS", {})
    made.complete_invocation("work", running.number)
    made.execute()
    assert made.context.seen == ["done.invoke.work"]
    assert not made.complete_invocation("work", running.number)


def test_finalize_and_autoforward() -> None:
    chart = parse_chart(
        "statechart: {name: t, root state: {name: r, invoke: {src: work, id: w, finalize: note(of='final'),"
        " autoforward: true, on error: r}, transitions: [{event: NEWS, action: note}, {event: GO, action: note}]}}"
    )
    made = Interpreter(chart, BINDINGS, input={"seen": []})
    made.execute()
    (running,) = made.invocations.values()
    made.deliver("w", running.number, "NEWS", {"n": 1})
    (step,) = made.execute()
    assert made.context.seen == ["final", "NEWS"]
    assert step.effects == (SendTo("w", "NEWS", {"n": 1}),)
    step = made.send("GO")
    assert made.context.seen == ["final", "NEWS", "GO"]
    assert step.effects == (SendTo("w", "GO", {}),)


def test_a_finalize_that_fails_undoes_the_step() -> None:
    chart = parse_chart(
        "statechart: {name: t, root state: {name: r, invoke: {src: work, id: w, finalize: fails, on error: r},"
        " transitions: [{event: NEWS, action: note}]}}"
    )
    made = Interpreter(chart, BINDINGS, input={"seen": []})
    made.execute()
    before = made.snapshot()
    (running,) = made.invocations.values()
    made.deliver("w", running.number, "NEWS", {})
    with pytest.raises(ActionError, match="no luck"):
        made.execute()
    assert {**made.snapshot(), "seq": 0} == {**before, "seq": 0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("errors: ignore", "unknown value 'ignore'"),
        ("data model: lua", "unknown value 'lua'"),
    ],
)
def test_other_values_are_refused(text: str, message: str) -> None:
    with pytest.raises(ChartDefinitionError, match=message):
        parse_chart(f"statechart: {{name: t, {text}, root state: {{name: r}}}}")


def test_an_empty_block_is_refused() -> None:
    with pytest.raises(ChartDefinitionError, match="a block of actions is empty"):
        parse_chart("statechart: {name: t, root state: {name: r, on entry: [[]]}}")
