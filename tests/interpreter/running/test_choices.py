"""How a machine chose: every candidate of a step with its verdict, in the order in which it was asked."""

from __future__ import annotations

from typing import Any

import pytest

from rawko import Bindings, Event, assign, parse_chart
from rawko.interpreter.clocks import SimulatedClock
from rawko.interpreter.running.choices import Choice, Choosing, choices_of

CHART = parse_chart(
    """
statechart:
  name: gate
  root state:
    name: gate
    initial: closed
    transitions:
      - {event: PUSH, target: closed}
    states:
      - name: closed
        transitions:
          - {event: PUSH, guard: is_strong(force=event.force) and not is_locked, target: deciding}
          - {event: PUSH, guard: is_locked, target: closed}
          - {event: COIN, target: deciding, action: count}
      - name: deciding
        always:
          - {guard: is_locked, target: closed}
          - {target: open}
      - name: open
        always: {guard: is_locked, target: closed}
""",
    file="gate.yaml",
)


def bindings() -> Bindings:
    bound = Bindings()
    bound.add("guard", "is_strong", lambda context, event, *, force: force > 3)
    bound.add("guard", "is_locked", lambda context, event: context["is_locked"])
    bound.add("action", "count", lambda context, event: assign(coins=context["coins"] + 1))
    return bound


def choices(event: Event, **context: Any) -> tuple[Choice, ...]:
    machine = Choosing(CHART, bindings(), input={"is_locked": False, "coins": 0, **context}, clock=SimulatedClock())
    machine.start()
    machine.choices = []
    machine.queue(event)
    step = machine.execute_once()
    assert step is not None
    return choices_of(machine, step)


def told(found: tuple[Choice, ...]) -> list[tuple[str, list[tuple[str, tuple[str, ...], str]]]]:
    return [(c.event, [(k.source, k.targets, k.verdict) for k in c.candidates]) for c in found]


def test_the_first_true_guard_wins_and_what_follows_is_told_too() -> None:
    found = choices(Event("PUSH", force=5))
    assert told(found) == [
        (
            "PUSH",
            [
                ("closed", ("deciding",), "taken"),
                ("closed", ("closed",), "not asked"),
                ("gate", ("closed",), "not asked"),
            ],
        ),
        ("", [("deciding", ("closed",), "guard"), ("deciding", ("open",), "taken")]),
        ("", [("open", ("closed",), "guard")]),
    ]
    first = found[0].candidates[0]
    assert first.guard == "is_strong(force=event.force) and not is_locked"
    assert first.values == {"is_strong(force=event.force)": True, "is_locked": False}
    assert first.reads == {"is_locked": False}
    assert first.position.startswith("gate.yaml:")
    assert [choice.is_taken for choice in found] == [True, True, False]
    assert found[1].configuration == ("gate", "deciding")


def test_all_guards_false_leave_it_to_the_state_outside() -> None:
    found = choices(Event("PUSH", force=1))
    assert told(found)[0] == (
        "PUSH",
        [("closed", ("deciding",), "guard"), ("closed", ("closed",), "guard"), ("gate", ("closed",), "taken")],
    )


def test_a_transition_that_needs_no_guard_comes_in_its_place() -> None:
    found = choices(Event("COIN"))
    assert [(event, [verdict for *_, verdict in candidates]) for event, candidates in told(found)] == [
        ("COIN", ["taken"]),
        ("", ["guard", "taken"]),
        ("", ["guard"]),
    ]


def test_an_event_that_nobody_handles_has_no_candidates() -> None:
    assert choices(Event("NOTHING")) == ()


@pytest.mark.parametrize(
    ("taking", "verdicts"),
    [
        ("", {"one": "guard", "two": "guard", "both": "guard"}),
        ("both", {"one": "guard", "two": "guard", "both": "taken"}),
        ("one", {"one": "taken", "two": "guard", "both": "guard"}),
        ("one two", {"one": "taken", "two": "taken", "both": "not asked"}),
        ("one two both", {"one": "taken", "two": "taken", "both": "not asked"}),
    ],
)
def test_with_scxml_s_selection_each_leaf_asks_upwards_until_one_transition_is_taken(
    taking: str, verdicts: dict[str, str]
) -> None:
    chart = parse_chart(
        """
statechart:
  name: pair
  selection: scxml
  root state:
    name: pair
    initial: both
    states:
      - name: both
        transitions: [{event: E, guard: takes(name='both'), action: nothing}]
        parallel states:
          - name: left
            initial: one
            states: [{name: one, transitions: [{event: E, guard: takes(name='one'), action: nothing}]}]
          - name: right
            initial: two
            states: [{name: two, transitions: [{event: E, guard: takes(name='two'), action: nothing}]}]
"""
    )
    bound = Bindings()
    bound.add("guard", "takes", lambda context, event, *, name: name in taking.split())
    bound.add("action", "nothing", lambda context, event: None)
    machine = Choosing(chart, bound, clock=SimulatedClock())
    machine.start()
    machine.choices = []
    step = machine.send("E")
    (choice,) = choices_of(machine, step)
    assert {candidate.source: candidate.verdict for candidate in choice.candidates} == verdicts
    assert all(bool(candidate.values) == (candidate.verdict != "not asked") for candidate in choice.candidates)
