"""Subscribers hear of every step that happened; listeners of plain steps hear what they always hear."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from sismic.model import MetaEvent

from rawko.chart.assemble import sealed
from rawko.chart.definition import Chart, Constant
from rawko.interpreter import Bindings, Event, Interpreter, InterpreterError, Receipt, Step, raise_, send
from rawko.interpreter.foreign.meta_events import EventConsumed, FixedMetaEvent, StepStarted, TransitionProcessed
from tests.interpreter.strategies import EVENTS, Move, charts, interpreter_of, moves
from tests.interpreter.tables import chart_of

TOGGLE = """
name: r
initial: a
states:
- {name: a, transitions: [{event: E, target: b}]}
- {name: b, transitions: [{event: E, target: a}, {event: MORE, target: a, action: more}]}
"""


def machine() -> Interpreter:
    bindings = Bindings()
    bindings.add("action", "more", lambda context, event: (send("E"), raise_("X")))
    return Interpreter(chart_of(TOGGLE), bindings)


def test_every_step_is_told_once_however_it_came_about() -> None:
    toggle = machine()
    steps: list[Step] = []
    toggle.subscribe(steps.append)
    told = [toggle.start(), toggle.send("E"), toggle.send("E"), toggle.send("E")]
    more = toggle.send("MORE")
    nothing = toggle.send("NOTHING")
    toggle.queue("E")
    told += [more, *more.following, nothing, *toggle.execute()]
    assert steps == told
    assert nothing.receipt is Receipt.UNKNOWN
    assert len(more.following) == 1


def test_watched_by_a_listener_too() -> None:
    toggle = machine()
    toggle.attach(lambda event: None)
    steps: list[Step] = []
    toggle.subscribe(steps.append)
    assert [toggle.start(), toggle.send("E"), toggle.send("E")] == steps


def test_a_subscription_ends_once() -> None:
    toggle = machine()
    steps: list[Step] = []
    end = toggle.subscribe(steps.append)
    toggle.subscribe(steps.append)
    toggle.start()
    assert len(steps) == 2
    end()
    end()
    toggle.send("E")
    assert len(steps) == 3


def test_subscribers_may_not_execute() -> None:
    toggle = machine()
    toggle.start()
    toggle.subscribe(lambda step: toggle.execute())
    with pytest.raises(InterpreterError, match="do not execute"):
        toggle.send("E")
    assert toggle.configuration == ["r", "b"]


def test_what_a_subscriber_queues_follows() -> None:
    toggle = machine()
    toggle.start()
    steps: list[Step] = []
    toggle.subscribe(lambda step: toggle.queue("E") if not steps else None)
    toggle.subscribe(steps.append)
    found = toggle.send("E")
    assert found.following == tuple(steps[1:])
    assert toggle.configuration == ["r", "a"]


def test_what_one_raises_goes_to_the_caller_and_the_step_stands() -> None:
    toggle = machine()
    steps: list[Step] = []

    def object_(step: Step) -> None:
        raise PermissionError("no")

    toggle.subscribe(object_)
    toggle.subscribe(steps.append)
    with pytest.raises(PermissionError):
        toggle.start()
    assert len(steps) == 1
    with pytest.raises(PermissionError):
        toggle.send("E")
    assert len(steps) == 2
    assert toggle.configuration == ["r", "b"]


# ------------------------------------------------------------ listeners of steps that run no code


def without_code(chart: Chart) -> Chart:
    """The chart with its moves alone: most steps need nothing but their plan. What might go on for ever never goes."""
    transitions = tuple(
        replace(t, actions=(), guard=None if t.events and "*" not in t.events[0] else Constant(False))
        for t in chart.transitions
    )
    states = {
        state.name: replace(
            state, on_entry=(), on_exit=(), transitions=tuple(transitions[t.index] for t in state.transitions)
        )
        for state in chart
    }
    return sealed(replace(chart, states=MappingProxyType(states), transitions=transitions))


def heard(watched: Interpreter, story: list[Move], *, fails_at: int = -1) -> list[Any]:
    """What a listener hears, with the configuration at that moment; perhaps it raises once."""
    found: list[Any] = []

    def listen(event: MetaEvent) -> None:
        data = {name: getattr(value, "name", value) for name, value in event.data.items()}
        found.append((event.name, data, watched.configuration, watched.matches("s1")))
        if len(found) == fails_at:
            raise PermissionError(fails_at)

    watched.attach(listen)
    for _ in range(2):  # the second time, plans are known
        for move in (None, *story, *(Move("event", event) for event in EVENTS)):
            if move is not None:
                move(watched)
            try:
                found.append([step.configuration for step in watched.execute(50)])
            except PermissionError as error:
                found.append(str(error))
    found.append(watched.snapshot())
    return found


@pytest.mark.slow
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(charts(), moves)
def test_listeners_of_plain_steps_hear_the_same(chart: Chart, story: list[Move]) -> None:
    plain = without_code(chart)
    expected = heard(_long_way(interpreter_of(plain)), story)
    assert heard(interpreter_of(plain), story) == expected
    told = sum(isinstance(line, tuple) for line in expected)
    for fails_at in range(1, told, max(1, told // 5)):
        assert heard(interpreter_of(plain), story, fails_at=fails_at) == heard(
            _long_way(interpreter_of(plain)), story, fails_at=fails_at
        )


def _long_way(machine: Interpreter) -> Interpreter:
    """A machine that takes every step as if it had code."""

    def nothing(event: MetaEvent) -> None: ...

    machine.attach(nothing)
    observation = machine._observation
    assert observation is not None
    observation.is_listening_only = False
    return machine


def test_meta_events_that_are_shared_are_read_only_and_copies_are_not() -> None:
    event = FixedMetaEvent("state entered", state="a")
    assert event == MetaEvent("state entered", state="a")
    assert (event.state, event.data, repr(event)) == ("a", {"state": "a"}, "MetaEvent('state entered', state='a')")
    event.data["state"] = "b"
    assert event.state == "a"
    with pytest.raises(AttributeError, match="make a MetaEvent of your own"):
        event.name = "state exited"
    with pytest.raises(AttributeError, match="has no attribute 'stat'"):
        _ = event.stat
    for again in (copy.copy(event), copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
        assert type(again) is MetaEvent
        assert again == event


def test_meta_events_of_steps_are_what_sismic_makes_of_the_same() -> None:
    transition = chart_of(TOGGLE).transitions[0]
    event = Event("E", n=1)
    pairs = [
        (StepStarted(2.5), MetaEvent("step started", time=2.5)),
        (EventConsumed(event), MetaEvent("event consumed", event=event)),
        (
            TransitionProcessed(transition, event),
            MetaEvent("transition processed", source="a", target="b", targets=["b"], event=event),
        ),
    ]
    for ours, theirs in pairs:
        assert isinstance(ours, MetaEvent)
        assert (ours, ours.data, repr(ours), hash(ours), dir(ours)) == (
            theirs, theirs.data, repr(theirs), hash(theirs), dir(theirs)
        )  # fmt: skip
        for name, value in theirs.data.items():
            assert getattr(ours, name) == value
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = ours.nothing
        for again in (copy.copy(ours), pickle.loads(pickle.dumps(ours))):
            assert (type(again), again) == (MetaEvent, theirs)
