"""Leads-to: proved, refuted by an end and by a person who need not act, undetermined by a cycle, void, empty."""

from __future__ import annotations

import pytest

from rawko.chart import parse_chart
from rawko.proving import Bounds, ControlSystem, Verdict, check_properties, explore, replay
from rawko.proving.budgets import Budget
from rawko.proving.naming import unknown_names

CHART = """
statechart:
  name: letter
  root state:
    name: letter
    initial: writing
    transitions: [{event: CANCEL, target: cancelled}]
    states:
      - {name: writing, transitions: [{event: SEND, target: sending}]}
      - name: sending
        invoke:
          id: post
          src: post
          on done: {target: sent}
          on error: [{guard: has_tries_left, target: waiting}, {target: returned}]
      - {name: waiting, after: {5s: sending}}
      - {name: returned, transitions: [{event: AGAIN, target: sending}]}
      - {name: sent, type: final}
      - {name: cancelled, type: final}
"""
TRIES = (Budget("has_tries_left"),)


@pytest.mark.parametrize(
    ("first", "others", "budgets", "verdict", "said", "steps"),
    [
        ("sending", ("sent", "returned", "cancelled"), TRIES, Verdict.PROVED, "'sending' leads to 'sent' or", 0),
        ("waiting", ("sending", "cancelled"), (), Verdict.PROVED, "'waiting' leads to", 0),
        ("sending", ("sent", "returned"), TRIES, Verdict.REFUTED, "the machine can end before", 3),
        ("sending", ("sent", "cancelled"), TRIES, Verdict.REFUTED, "only a person can go on from here", 3),
        ("sending", ("sent", "returned", "cancelled"), (), Verdict.UNDETERMINED, "a cycle may go on for ever", 2),
    ],
)
def test_what_follows_a_state(
    first: str, others: tuple[str, ...], budgets: tuple[Budget, ...], verdict: Verdict, said: str, steps: int
) -> None:
    system = ControlSystem(parse_chart(CHART), Bounds(budgets=budgets, leads_to={first: others}))
    finding = check_properties(explore(system))[-1]
    assert finding.property == "leads_to"
    assert finding.verdict is verdict, finding.text
    assert said in finding.text
    assert len(finding.way) == steps
    assert verdict is Verdict.PROVED or any(first in system.step.names(one.control) for _, one in finding.way)
    assert replay(system, finding.way) == ""


def test_a_state_that_is_never_active_at_rest_proves_nothing() -> None:
    chart = parse_chart(CHART.replace("after: {5s: sending}", "always: {target: sent}"))
    system = ControlSystem(chart, Bounds(leads_to={"waiting": ("sent",)}))
    (finding,) = check_properties(explore(system), ["leads_to"])
    assert finding.verdict is Verdict.REFUTED
    assert "never active between two events" in finding.text


def test_without_any_it_is_void_and_not_listed() -> None:
    found = explore(ControlSystem(parse_chart(CHART)))
    assert "leads_to" not in [finding.property for finding in check_properties(found)]
    assert check_properties(found, ["leads_to"])[0].verdict is Verdict.VOID


def test_states_that_the_chart_does_not_have_are_refused() -> None:
    system = ControlSystem(parse_chart(CHART), Bounds(leads_to={"sendin": ("sent",)}))
    (text,) = unknown_names(system, ())
    assert "leads_to names 'sendin', which is none of the chart's states; did you mean 'sending'?" in text
