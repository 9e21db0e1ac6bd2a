"""Machines that do not come to rest are named with states, events and places; long ones that do are left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import (
    Bindings,
    EventlessCycleError,
    Interpreter,
    MacrostepLimitError,
    append,
    assign,
    raise_,
    send,
)
from rawko.interpreter.bounds.limits import MAX_MACROSTEPS, MAX_MICROSTEPS, WATCH_AFTER, WATCH_AFTER_WITH_CODE
from tests.interpreter.tables import chart_of

HEAD = "name: r\ninitial: idle\nstates:\n- {name: idle, transitions: [{event: GO, target: a}]}\n"
LOOPS: dict[str, tuple[str, list[str | None]]] = {
    "eventless": ("- {name: a, always: b}\n- {name: b, always: a}", [None, None]),
    "a raise without target": (
        "- {name: a, on entry: {raise: T}, transitions: [{event: T, action: {raise: T}}]}",
        ["T"],
    ),
    "a raise that nothing takes in between": (
        "- {name: a, on entry: {raise: T}, transitions: [{event: T, action: [{raise: X}, {raise: T}]}]}",
        ["X", "T"],
    ),
    "a self-transition": ("- {name: a, on entry: {raise: T}, transitions: [{event: T, target: a}]}", ["T"]),
    "done for ever": (
        "- {name: a, initial: f, states: [{name: f, type: final}], on done: a}",
        ["done.state.a"],
    ),
    "an assignment that comes back": (
        "- {name: a, always: {target: b, action: {assign: {n: 1}}}}\n"
        "- {name: b, always: {target: a, action: {assign: {n: 2}}}}",
        [None, None],
    ),
    "through a history": (
        "- name: a\n  initial: x\n  states: [{name: x, always: y}, {name: y, always: b},"
        " {name: h, type: deep history}]\n"
        "- {name: b, always: c}\n- {name: c, always: h}",
        [None, None, None],
    ),
    "in two regions": (
        "- name: a\n  parallel states:\n"
        "  - {name: p, on entry: {raise: P}, transitions: [{event: P, action: {raise: Q}}]}\n"
        "  - {name: q, transitions: [{event: Q, action: {raise: P}}]}",
        ["P", "Q"],
    ),
    "actors started over and over": (
        "- {name: a, invoke: {id: w, src: work}, always: b}\n- {name: b, always: a}",
        [None, None],
    ),
}


def actor() -> Bindings:
    bindings = Bindings()
    bindings.add("actor", "work", lambda input: None)
    return bindings


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_named_with_events_states_and_places(name: str) -> None:
    states, events = LOOPS[name]
    chart = chart_of(HEAD + states)
    machine = Interpreter(chart, actor())
    machine.start()
    before = machine.snapshot()
    with pytest.raises(EventlessCycleError) as caught:
        machine.send("GO")
    error = caught.value
    assert error.limit is None
    assert "same configuration, context and queue; the loop is\n  " in str(error)
    found = [step.event for step in error.loop]
    assert found in [events[place:] + events[:place] for place in range(len(events))]
    assert error.microsteps < 3 * WATCH_AFTER
    for step in error.loop:
        assert "r" in step.configuration
        for transition in step.transitions:
            assert " -> " in transition
            assert transition.split(" at ")[1].count(":") == 2, "file, line, column"
    assert any(step.transitions for step in error.loop)
    assert str(error.loop[0]) in str(error)
    assert machine.snapshot() == {**before, "seq": machine.snapshot()["seq"]}
    assert machine.matches("idle")


def counting(guard: Callable[[Any, Any], bool], limit: int = MAX_MICROSTEPS) -> Interpreter:
    bindings = Bindings()
    bindings.add("guard", "more", guard)
    bindings.add("action", "count", lambda context, event: assign(n=context.n + 1))
    states = (
        "- {name: a, always: [{guard: more, target: b, action: count}, done]}\n- {name: b, always: a}\n- {name: done}"
    )
    return Interpreter(chart_of(HEAD + states), bindings, input={"n": 0}, max_microsteps=limit)


@pytest.mark.parametrize("count", [1_000, 20_000, 45_000])
def test_a_long_chain_that_the_context_counts_ends_by_itself(count: int) -> None:
    machine = counting(lambda context, event: context.n < count)
    step = machine.send("GO")
    assert machine.matches("done")
    assert machine.context.n == count
    assert len(step.steps) == 2 * count + 3


def test_a_long_chain_that_a_guard_counts_by_itself_ends_too() -> None:
    asked: list[int] = []
    bindings = Bindings()

    def more(context: object, event: object) -> bool:
        asked.append(1)
        return len(asked) < 20_000

    bindings.add("guard", "more", more)
    machine = Interpreter(
        chart_of(
            HEAD + "- {name: a, always: [{guard: more, target: b}, done]}\n- {name: b, always: a}\n- {name: done}"
        ),
        bindings,
    )
    machine.send("GO")
    assert machine.matches("done")


@pytest.mark.slow
def test_one_that_counts_for_ever_meets_the_bound_which_is_settable() -> None:
    with pytest.raises(EventlessCycleError, match="more than 5000 microsteps without rest") as caught:
        counting(lambda context, event: True, 5000).send("GO")
    assert caught.value.limit == 5000
    assert caught.value.loop[-1].transitions
    with pytest.raises(EventlessCycleError, match="`max_microsteps`"):
        counting(lambda context, event: True).send("GO")
    for wrong in (0, -1, 1.5, None, True):
        with pytest.raises(ValueError, match=r"max_microsteps is a whole number >= 1"):
            counting(lambda context, event: True, wrong)  # type: ignore[arg-type]


def ring(length: int) -> str:
    """A loop of so many microsteps, without code."""
    return "\n".join(f"- {{name: {'a' if n == 0 else f's{n}'}, always: {f's{n + 1}' if n + 1 < length else 'a'}}}"
                     for n in range(length))  # fmt: skip


@pytest.mark.parametrize(("length", "looks"), [(1, 1), (2, 3), (3, 6), (4, 7), (5, 12), (8, 15), (9, 24)])
def test_a_loop_is_compared_with_moments_at_doubling_distances(length: int, looks: int) -> None:
    """A moment is remembered at looks 0, 1, 3, 7 and 15; a loop is found one length after the first that it fits."""
    machine = Interpreter(chart_of(HEAD + ring(length)), Bindings())
    with pytest.raises(EventlessCycleError) as caught:
        machine.send("GO")
    assert caught.value.microsteps == 1 + WATCH_AFTER + looks  # the first is that of GO itself
    assert len(caught.value.loop) == length


def test_bounds_are_exact_from_one_on() -> None:
    with pytest.raises(EventlessCycleError) as caught:
        counting(lambda context, event: True, 50).send("GO")
    assert (caught.value.limit, caught.value.microsteps) == (50, 51)
    assert counting(lambda context, event: False, 2).send("GO").configuration == ("r", "done")
    with pytest.raises(EventlessCycleError, match="more than 1 microsteps") as caught:
        counting(lambda context, event: False, 1).send("GO")
    assert caught.value.limit == 1
    assert "(the bound `max_microsteps`); the latest are\n  " in str(caught.value)


def test_with_bound_functions_the_same_state_again_is_an_error_too() -> None:
    bindings = Bindings()
    bindings.add("guard", "always_true", lambda context, event: True)
    states = (
        "- {name: a, always: {guard: always_true, target: b}}\n- {name: b, always: {guard: always_true, target: a}}"
    )
    looping = Interpreter(chart_of(HEAD + states), bindings)
    with pytest.raises(EventlessCycleError, match="same configuration") as caught:
        looping.send("GO")
    assert caught.value.limit is None
    assert WATCH_AFTER_WITH_CODE <= caught.value.microsteps < MAX_MICROSTEPS


GROWING = {
    "the context": "append",
    "the queue": "raise",
    "the payload": "payload",
    "the kind of a value": "kind",
}


@pytest.mark.parametrize("name", GROWING)
def test_what_grows_is_not_taken_for_a_loop(name: str) -> None:
    count = 6_000

    def go(context: Any, event: Any) -> Any:
        n = event.data.get("n", 0)
        match GROWING[name]:
            case "append":
                return append("log", 1), *((raise_("T"),) if len(context.log) < count else ())
            case "raise":
                return raise_("T", n=n + 1) if n < count else None
            case "payload":
                return raise_("T", n=n + 1, same="x") if n < count else None
            case _:
                following = {0: True, 1: 1.0}.get(n, n)
                return raise_("T", n=n + 1, kind=following) if n < count else None

    bindings = Bindings()
    bindings.add("action", "go", go)
    states = "- {name: a, on entry: go, transitions: [{event: T, action: go}]}"
    machine = Interpreter(chart_of(HEAD + states), bindings, input={"log": []})
    assert len(machine.send("GO").steps) >= count


ENDLESS = {
    "send": "- {name: a, on entry: {send: T}, transitions: [{event: T, target: a}]}",
    "send without a target": "- {name: a, on entry: {send: T}, transitions: [{event: T, action: {send: T}}]}",
    "ping and pong": (
        "- {name: a, on entry: {send: T}, transitions: [{event: T, target: b}]}\n"
        "- {name: b, on entry: {send: U}, transitions: [{event: U, target: a}]}"
    ),
    "send with an id": "- {name: a, on entry: {send: {event: T, id: t}}, transitions: [{event: T, target: a}]}",
    "after no time": "- {name: a, after: {0ms: {target: a}}}",
    "send after no time": "- {name: a, on entry: {send: {event: T, delay: 0ms}}, transitions: [{event: T, target: a}]}",
}


@pytest.mark.parametrize("way", ["send", "execute", "advance"])
@pytest.mark.parametrize("name", ENDLESS)
def test_a_state_that_sends_itself_events_is_bounded_and_nothing_is_lost(name: str, way: str) -> None:
    machine = Interpreter(chart_of(HEAD + ENDLESS[name]), max_macrosteps=50)
    machine.start()
    told: list[Any] = []
    machine.subscribe(told.append)
    with pytest.raises(MacrostepLimitError, match="more than 50 macrosteps in one call") as caught:
        match way:
            case "send":
                machine.send("GO")
            case "execute":
                machine.queue("GO").execute()
            case _:
                machine.queue("GO").advance(1)
    error = caught.value
    assert error.limit == 50
    assert list(error.steps) == told
    assert set(error.events) & {"T", "U", "after.a.0"}
    assert "in {r, " in str(error)
    restored = Interpreter(machine.chart, max_macrosteps=50)
    restored.restore(machine.snapshot())
    for one in (machine, restored):
        assert len(one.execute(max_steps=7)) == 7, "it goes on in portions"
        assert one.matches("a") or one.matches("b")


def test_many_events_that_waited_are_no_endless_machine() -> None:
    machine = Interpreter(chart_of(HEAD + "- {name: a}"), max_macrosteps=10)
    for _ in range(500):
        machine.queue("GO")
    assert len(machine.execute()) == 501
    for _ in range(500):
        machine.queue("OTHER", delay=1)
    assert len(machine.advance(2)) == 500
    for _ in range(20):
        machine.queue("OTHER")
    assert machine.send("GO").receipt is not None


def test_a_long_chain_of_sent_events_ends_by_itself() -> None:
    bindings = Bindings()
    bindings.add(
        "action",
        "count",
        lambda context, event: (assign(n=context.n + 1), *((send("T"),) if context.n < 20_000 else ())),
    )
    states = "- {name: a, on entry: {send: T}, transitions: [{event: T, action: count}]}"
    machine = Interpreter(chart_of(HEAD + states), bindings, input={"n": 0})
    assert len(machine.send("GO").following) == 20_001
    assert MAX_MACROSTEPS > 20_001


def test_two_machines_that_are_bound_to_each_other_are_bounded() -> None:
    chart = parse_chart(
        "statechart:\n  name: echo\n  root state:\n    name: r\n    transitions: [{event: T, action: {send: T}}]\n"
    )
    machine, other = (Interpreter(chart, max_macrosteps=20) for _ in range(2))
    machine.bind(other)
    with pytest.raises(MacrostepLimitError):
        machine.send("T")


def test_trusted_code_meets_the_bound() -> None:
    chart = parse_chart(
        "statechart:\n  name: c\n  preamble: n = 0\n  root state:\n    name: r\n    initial: a\n    states:\n"
        "    - name: a\n      transitions: [{target: b, action: n = n + 1}]\n"
        "    - name: b\n      transitions: [{target: a}]\n",
        trusted=True,
    )
    with pytest.raises(EventlessCycleError, match="more than 300 microsteps") as caught:
        Interpreter.trusting(chart, max_microsteps=300).start()
    assert caught.value.limit == 300
