"""Contracts as invariants: what can be computed is proved or refuted, what cannot is named."""

from __future__ import annotations

import pytest

from rawko.chart import parse_chart
from rawko.interpreter import Bindings, Interpreter
from rawko.interpreter.data.updates import assign
from rawko.interpreter.errors import ActionError
from rawko.proving import Bounds, ControlSystem, Finding, Verdict, check_properties, explore, replay

LAMP = """
statechart:
  name: lamp
  root state:
    name: lamp
    initial: room
    states:
      - name: room
        parallel states:
          - name: door
            initial: closed
            contract: [{always: not in_state('open') or in_state('lit')}]
            states:
              - {name: closed, transitions: [{event: OPEN, target: open}]}
              - {name: open, transitions: [{event: CLOSE, target: closed}]}
          - name: light
            initial: dark
            states:
              - {name: dark, transitions: [{event: [OPEN, ON], target: lit}]}
              - {name: lit, transitions: [{event: OFF, guard: not in_state('open'), target: dark}]}
"""


def verdict(text: str, bounds: Bounds | None = None, functions: Bindings | None = None) -> Finding:
    found = explore(ControlSystem(parse_chart(text), bounds or Bounds(), functions))
    [finding] = check_properties(found, ["contracts"])
    assert replay(found.system, finding.way) == ""
    return finding


def test_a_condition_on_states_of_other_regions_is_proved() -> None:
    found = verdict(LAMP)
    assert found.verdict is Verdict.PROVED
    assert found.text == "1 condition of a contract holds after every microstep"


def test_a_condition_that_fails_is_refuted_as_a_run_fails() -> None:
    broken = LAMP.replace(", guard: not in_state('open')", "")
    found = verdict(broken)
    assert found.verdict is Verdict.REFUTED
    assert found.text == "the contract of 'door': not in_state('open') or in_state('lit') is broken: event OFF"
    assert [move.event for move, _ in found.way] == ["", "OPEN", "OFF"]
    machine = Interpreter(parse_chart(broken))
    machine.start()
    machine.send("OPEN")
    with pytest.raises(ActionError):
        machine.send("OFF")


def test_a_state_that_is_left_in_the_same_macrostep_is_looked_at() -> None:
    text = """
statechart:
  name: passing
  root state:
    name: passing
    initial: a
    contract: [{always: not in_state('b')}]
    states:
      - {name: a, transitions: [{event: GO, target: b}]}
      - {name: b, always: c}
      - {name: c, type: final}
"""
    found = verdict(text)
    assert found.verdict is Verdict.REFUTED
    assert [move.event for move, _ in found.way] == ["", "GO"]


COUNTED = """
statechart:
  name: counted
  root state:
    name: counted
    initial: trying
    contract: [{always: is_within}, {always: is_sorted}, {before: is_ready}]
    states:
      - {name: trying, transitions: [{event: AGAIN, guard: has_tries_left, target: trying, action: count}]}
"""


def functions(limit: int) -> Bindings:
    bound = Bindings()
    bound.add("guard", "has_tries_left", lambda context, event: context.tries < limit)
    bound.add("guard", "is_within", lambda context, event: context.tries <= 2)
    bound.add("guard", "is_sorted", lambda context, event: bool(context.history))
    bound.add("action", "count", lambda context, event: assign(tries=context.tries + 1))
    return bound


def test_conditions_on_bounded_fields_are_computed_and_the_others_are_named() -> None:
    bounds = Bounds(context={"tries": (0, 1, 2, 3)})
    start = COUNTED.replace("initial: trying\n", "initial: trying\n    on entry: [{assign: {tries: 0}}]\n")
    found = verdict(start, bounds, functions(2))
    assert (found.verdict, found.text.partition(";")[2]) == (
        Verdict.PROVED,
        " not checked: 'counted': is_sorted, is_ready",
    )
    found = verdict(start, bounds, functions(3))
    assert found.verdict is Verdict.REFUTED
    assert [move.event for move, _ in found.way] == ["", "AGAIN", "AGAIN", "AGAIN"]


def test_without_anything_to_compute_it_is_void_and_says_what_was_left_out() -> None:
    found = verdict(COUNTED)
    assert found.verdict is Verdict.VOID
    assert found.text == "no condition of a contract can be computed; not checked: is_within, is_sorted, is_ready"
    cut = explore(ControlSystem(parse_chart(LAMP)), limit=1)
    assert check_properties(cut, ["contracts"])[0].verdict is Verdict.UNDETERMINED
