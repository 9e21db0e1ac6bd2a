"""`can`, `why_not` and receipts (SEMANTICS: can, why_not)."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.interpreter import Bindings, Interpreter, Receipt
from tests.interpreter.tables import chart_of

CHART = """
name: r
initial: p
states:
- name: p
  transitions: [{event: BOTH, target: x}, {event: LEAVE, guard: not is_small, target: x}]
  parallel states:
  - name: a
    initial: a1
    states:
    - name: a1
      transitions:
      - {event: GO, guard: is_small and in_state('b2'), target: a2}
      - {event: GO, guard: is_rich(price=event.price), target: a2}
      - {event: BAD, guard: broken, target: a2}
      - {event: BOTH, target: a2}
      - {event: AWAY, target: x}
    - {name: a2}
  - name: b
    initial: b1
    states: [{name: b1, transitions: [{event: AWAY, target: y}]}, {name: b2}]
- {name: x, transitions: [{event: HOME, target: p}]}
- {name: y}
"""


@pytest.fixture
def machine() -> Interpreter:
    bindings = Bindings()
    bindings.add("guard", "is_small", lambda context, event: context.size < 10)
    bindings.add("guard", "is_rich", lambda context, event, price: context["money"] >= (price or 0))
    bindings.add("guard", "broken", lambda context, event: context.nothing)
    interpreter = Interpreter(
        chart_of(CHART, events="{DECLARED: []}"), bindings, input={"size": 3, "money": 5, "unread": 0}
    )
    interpreter.start()
    return interpreter


CAN = [
    ("GO", {}, True),
    ("GO", {"price": 6}, False),
    ("GO", {"price": 5}, True),
    ("BAD", {}, False),
    ("BOTH", {}, True),
    ("LEAVE", {}, False),
    ("HOME", {}, False),
    ("UNKNOWN", {}, False),
]


@pytest.mark.parametrize(("event", "data", "expected"), CAN)
def test_can(machine: Interpreter, event: str, data: dict[str, Any], expected: bool) -> None:
    before = machine.snapshot()
    assert machine.can(event, **data) is expected
    assert machine.snapshot() == before


RECEIPTS = [
    ("GO", Receipt.TAKEN),
    ("LEAVE", Receipt.DENIED),
    ("HOME", Receipt.NOT_HANDLED),
    ("UNKNOWN", Receipt.UNKNOWN),
    ("DECLARED", Receipt.NOT_HANDLED),
]


@pytest.mark.parametrize(("event", "receipt"), RECEIPTS)
def test_receipts(machine: Interpreter, event: str, receipt: Receipt) -> None:
    assert machine.send(event).receipt is receipt


def test_a_guard_that_denied_names_what_it_saw(machine: Interpreter) -> None:
    first, second = machine.why_not("GO", price=6)
    assert (first.reason, first.source, first.targets, first.guard) == (
        "guard",
        "a1",
        ("a2",),
        "is_small and in_state('b2')",
    )
    assert dict(first.values) == {"is_small": True, "in_state('b2')": False}
    assert dict(second.values) == {"is_rich(price=event.price)": False}
    assert dict(second.reads) == {"money": 5}
    assert str(second) == "a1 -> a2: guard [is_rich(price=event.price)] with money=5"


def test_what_a_guard_reads_is_seen_however_it_reads() -> None:
    bindings = Bindings()
    bindings.add("guard", "look", lambda context, event: context.get("n") + context["m"] + context.k > 9)
    chart = chart_of("name: r\ntransitions: [{event: E, guard: look}]")
    machine = Interpreter(chart, bindings, input={"n": 1, "m": 2, "k": 3, "get": 4})
    machine.start()
    assert dict(machine.why_not("E")[0].reads) == {"n": 1, "m": 2, "k": 3}


def test_an_error_is_told(machine: Interpreter) -> None:
    (refusal,) = machine.why_not("BAD")
    assert (refusal.reason, refusal.transition) == ("error", 4)
    assert "AttributeError: no field 'nothing'" in refusal.detail


def test_inner_fired(machine: Interpreter) -> None:
    (refusal,) = machine.why_not("BOTH")
    assert (refusal.reason, refusal.source, refusal.detail) == ("inner fired", "p", "'a1' fires first")


def test_preempted(machine: Interpreter) -> None:
    (refusal,) = machine.why_not("AWAY")
    assert (refusal.reason, refusal.source, refusal.targets) == ("preempted", "b1", ("y",))
    assert refusal.detail == "by the transition of 'a1'; both would leave 'r'"


def test_elsewhere_and_nowhere(machine: Interpreter) -> None:
    assert str(machine.why_not("HOME")[0]) == "not handled here (handled in 'x')"
    assert str(machine.why_not("HOMES")[0]) == "unknown event (nearest: HOME)"
    assert str(machine.why_not("DECLARED")[0]) == "not handled here (declared, but no state handles it)"
    assert "known events: AWAY" in str(machine.why_not("zzzzzz")[0])


def test_nothing_is_refused(machine: Interpreter) -> None:
    machine.send("LEAVE")
    assert machine.why_not("GO")[-1].reason == "inner fired" or machine.can("GO")


def test_before_and_after_the_run() -> None:
    chart = chart_of("name: r\ninitial: f\nstates: [{name: f, type: final}]")
    interpreter = Interpreter(chart)
    assert [refusal.reason for refusal in interpreter.why_not("E")] == ["not started"]
    assert interpreter.can("E") is False
    interpreter.start()
    assert [refusal.reason for refusal in interpreter.why_not("E")] == ["done"]
    assert interpreter.can("E") is False
