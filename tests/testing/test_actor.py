"""create_test_actor, doubles and recorders: machines under test without files."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rawko.chart import find_chart, load_chart, parse_chart
from rawko.interpreter import Bindings, Event, InterpreterError, InvocationError, Receipt, append
from rawko.machines.orchestrator import bindings as orchestrator_bindings
from rawko.runtime import Actor, ActorFailed, Done
from rawko.testing import ContractMistake, Recorder, coverage_table, create_test_actor, scripted_actor

CHART = parse_chart("""
statechart:
  name: fetcher
  root state:
    name: fetcher
    initial: idle
    states:
      - name: idle
        transitions: [{event: FETCH, guard: is_allowed, target: fetching, action: count(by=2)}]
      - name: fetching
        invoke: {id: fetch, src: fetch, input: {url: x}, on done: {target: idle, action: keep}, on error: idle}
        transitions: [{event: PART, action: keep_part}]
""")


def test_the_promised_example_transitions_from_idle_to_selecting_on_start_task() -> None:
    """A3-011, C-50."""
    actor = create_test_actor(find_chart("orchestrator"), orchestrator_bindings)
    assert actor.matches("idle")

    actor.send("START_TASK", task="implement feature")

    assert actor.matches("selecting")
    assert [effect.id for effect in actor.recorder.started] == ["select_agent"]


def test_the_test_plays_the_actors_and_moves_the_clock() -> None:
    actor = create_test_actor(CHART, guards={"is_allowed": True})
    assert actor.send("FETCH") is Receipt.TAKEN
    assert actor.input_of("fetch") == {"url": "x"}
    actor.deliver("fetch", "PART", n=1)
    actor.complete("fetch", {"ok": True})
    assert actor.matches("idle")
    assert [(call.name, call.arguments) for call in actor.calls] == [
        ("count", {"by": 2}),
        ("keep_part", {}),
        ("keep", {}),
    ]
    actor.advance(5)
    assert actor.interpreter.clock.time == 5
    assert actor.send("FETCH") is Receipt.TAKEN
    actor.fail("fetch", {"category": "unknown", "message": "no"})
    assert actor.matches("idle")
    assert actor.send("SING") is Receipt.UNKNOWN


def test_an_outcome_that_is_given_goes_before_the_bound_guard() -> None:
    bindings = Bindings()
    asked: list[str] = []

    @bindings.guard
    def is_allowed(context: Any, event: Any) -> bool:
        asked.append(event.name)
        return True

    actor = create_test_actor(CHART, bindings, guards={"is_allowed": False})
    assert actor.send("FETCH") is Receipt.DENIED
    assert asked == []
    actor.doubles.given.clear()
    assert actor.send("FETCH") is Receipt.TAKEN
    assert asked == ["FETCH"]


def test_a_failure_that_nobody_handles_is_raised() -> None:
    chart = parse_chart(
        "statechart: {name: c, root state: {name: c, initial: a, states: [{name: a, invoke: {id: i, src: i}}]}}"
    )
    actor = create_test_actor(chart)
    with pytest.raises(InvocationError):
        actor.fail("i", {"category": "unknown", "message": "no"})


def test_mistakes_are_told() -> None:
    with pytest.raises(ContractMistake, match="has no state 'idel'"):
        create_test_actor(CHART, state="idel")
    actor = create_test_actor(CHART)
    with pytest.raises(ContractMistake, match="actor 'fetch' is not running; running: none"):
        actor.complete("fetch")
    with pytest.raises(InterpreterError, match="is not bound"):
        actor.send("FETCH")
    loop = parse_chart(
        "statechart: {name: c, root state: {name: c, initial: a, states: "
        "[{name: a, transitions: [{event: GO, action: {send: GO}}]}]}}"
    )
    with pytest.raises(ContractMistake, match="does not come to rest"):
        create_test_actor(loop).send("GO")


def test_a_machine_is_put_into_a_state_with_its_timers_and_invocations_and_no_action_run() -> None:
    chart = parse_chart("""
statechart:
  name: c
  root state:
    name: c
    initial: a
    on entry: never
    states:
      - {name: a}
      - name: b
        on entry: never
        invoke: {id: job, src: job, timeout: 3s, on done: a, on error: {target: d, action: why}}
        after: {5s: a}
      - {name: d, transitions: [{event: GO, target: b}]}
""")
    actor = create_test_actor(chart, state="b", context={"n": 1})
    assert (actor.calls, dict(actor.context)) == ([], {"n": 1})
    assert [effect.id for effect in actor.recorder.started] == ["job"]
    actor.advance(3)
    assert actor.matches("d"), "the invocation timed out as it would have"
    actor = create_test_actor(chart, state="b")
    actor.complete("job")
    assert actor.matches("a")
    assert actor.interpreter.next_due() is None, "its timer went with the state"


def test_a_shipped_machine_can_be_put_into_each_of_its_states() -> None:
    chart = load_chart(find_chart("orchestrator"))
    stable = [s for s in chart if s.kind == "atomic" and all(t.events for t in s.transitions)]
    assert len(stable) > 5
    for state in stable:
        placed = create_test_actor(chart, orchestrator_bindings, state=state.name)
        assert placed.matches(state.name)
        assert set(placed.interpreter.invocations) >= {invoke.id for invoke in state.invoke}


# ---------------------------------------------------------------- doubles and recorders for running actors


async def test_a_scripted_actor_does_what_it_is_told_and_remembers_its_inputs() -> None:
    bindings = Bindings()

    @bindings.action
    def keep(context: Any, event: Any) -> Any:
        return append("got", event.output)

    @bindings.action
    def keep_part(context: Any, event: Any) -> Any:
        return append("got", event.n)

    bindings.add("guard", "is_allowed", lambda context, event: True)
    bindings.add("action", "count", lambda context, event, by: None)
    fetch = scripted_actor(Event("PART", n=1), 0, Event("PART", n=2), Done({"whole": True}))
    recorder = Recorder()
    async with Actor(CHART, bindings.replaced("actor", {"fetch": fetch}), input={"got": []}) as actor:
        actor.subscribe(recorder.record)
        await actor.settle()
        actor.send("FETCH")
        await actor.wait_for(lambda a: len(a.context["got"]) == 3, timeout_s=60)
        assert list(actor.context["got"]) == [1, 2, {"whole": True}]
    assert [dict(given) for given in fetch.inputs] == [{"url": "x"}]
    assert recorder.entered[-2:] == ["fetching", "idle"]
    assert [name for name, receipt in recorder.receipts] == ["FETCH", "PART", "PART", "done.invoke.fetch"]


@pytest.mark.parametrize(
    ("script", "output"), [((), None), ((None,), None), (({"a": 1},), {"a": 1}), (("text",), "text"), ((True,), True)]
)
async def test_a_scripted_actor_s_output(script: tuple[Any, ...], output: Any) -> None:
    items = [item async for item in scripted_actor(*script)({"x": 1})]
    assert items == ([] if not script else [Done(output)])


async def test_a_scripted_actor_fails_and_is_cancelled_as_others_are() -> None:
    with pytest.raises(ActorFailed, match="no"):
        [item async for item in scripted_actor(ActorFailed("no"))({})]
    task = asyncio.ensure_future(anext(scripted_actor(60)({})))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_coverage_table_names_what_is_missing_and_where() -> None:
    actor = create_test_actor(CHART, guards={"is_allowed": True})
    actor.send("FETCH")
    actor.coverage.ask(actor.doubles.asked)
    table = coverage_table([actor.coverage]).splitlines()
    assert table[0].split() == [
        "chart",
        "states",
        "transitions",
        "decisions",
        "guard",
        "outcomes",
        "ends",
        "of",
        "actors",
    ]
    assert table[2].split() == [
        "fetcher",
        "3/3",
        "(100",
        "%)",
        "1/4",
        "(25",
        "%)",
        "1/2",
        "(50",
        "%)",
        "1/2",
        "(50",
        "%)",
        "0/2",
        "(0",
        "%)",
    ]
    places = [line.split(":")[1] for line in table if "never taken: fetching -> idle on done.invoke.fetch" in line]
    assert places == ["11"]
    assert "<chart>: guard 'is_allowed' was never false" in table
    assert len(coverage_table([actor.coverage], is_verbose=False).splitlines()) == 3
    twice = create_test_actor(CHART, guards={"is_allowed": False})
    twice.send("FETCH")
    twice.coverage.ask(twice.doubles.asked)
    actor.coverage.add(twice.coverage)
    assert actor.coverage.missing_guards == []
    assert actor.coverage.to_json()["states"] == [3, 3]
    other = create_test_actor(find_chart("orchestrator"), orchestrator_bindings)
    with pytest.raises(ValueError, match="cannot be added"):
        actor.coverage.add(other.coverage)
