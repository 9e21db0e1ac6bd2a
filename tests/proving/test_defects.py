# ruff: noqa: E501 - charts as they are written
"""Defects that are known are found: those of the first orchestrator, and ten that are planted in small charts."""

from __future__ import annotations

from pathlib import Path

import pytest

from rawko.chart import load_chart, parse_chart
from rawko.chart.lint.linting import lint_chart
from rawko.proving import Bounds, ControlSystem, Finding, Verdict, check_properties, explore, read_bounds, replay
from rawko.proving.exploring.exploration import Exploration

HERE = Path(__file__).parent
FIRST = HERE / "first_orchestrator.yaml"


def first(text: str | None = None) -> tuple[Exploration, dict[str, Finding]]:
    """The first orchestrator, explored with the budgets that its description names."""
    chart = load_chart(FIRST) if text is None else parse_chart(text)
    found = explore(ControlSystem(chart, read_bounds(HERE / "first_orchestrator.bounds.yml")))
    return found, {one.property: one for one in check_properties(found)}


def test_an_arbiter_that_fails_is_asked_for_ever() -> None:
    """No counter counts its failures, so that `max_failures_reached` ends nothing: selecting, error, selecting, ..."""
    found, findings = first()
    cycles = findings["cycles"]
    assert cycles.verdict is Verdict.UNDETERMINED
    assert cycles.round == (("first_orchestrator", "selecting"),)
    assert [str(move) for move, _ in cycles.way] == ["the machine starts", "event START_TASK"]
    assert replay(found.system, cycles.way) == ""


COUNTED = FIRST.read_text(encoding="utf-8").replace(
    "{target: error_handling, action: assign_error}", "{target: error_handling, action: [assign_error, count_failure]}"
)
RETRY = "            - {guard: should_retry, target: selecting, action: assign_decision}\n"


def test_a_retry_passes_by_the_limit_of_iterations() -> None:
    """With failures counted cycles are left: RETRY is asked before the limit, which it therefore never meets; and an
    evaluation that fails after each agent that succeeds never asks it. Asked before each agent, it ends both."""
    _, findings = first(COUNTED)
    assert findings["cycles"].verdict is Verdict.UNDETERMINED
    assert "should_retry" in findings["cycles"].text
    assert {names[-1] for names in findings["cycles"].round} == {"selecting", "executing", "evaluating"}
    limit = (
        "            - {guard: max_iterations_reached, target: complete, action: [assign_limit, log_max_iterations]}\n"
    )
    ordered = COUNTED.replace(RETRY, "").replace(limit, limit + RETRY)
    assert ordered != COUNTED
    _, findings = first(ordered)
    assert [names[-1] for names in findings["cycles"].round] == ["executing", "evaluating", "selecting"]
    chosen = "on done: {target: executing, action: assign_selected_agent}"
    guarded = "on done: [{guard: max_iterations_reached, target: complete}, {target: executing}]"
    assert first(ordered.replace(chosen, guarded))[1]["cycles"].verdict is Verdict.PROVED


def test_cancel_is_heard_only_while_an_agent_works() -> None:
    _, findings = first()
    assert findings["cancel"].verdict is Verdict.REFUTED
    assert [str(move) for move, _ in findings["cancel"].way] == ["the machine starts"]
    assert findings["cancel"].end == ("first_orchestrator", "idle")


def test_events_that_nothing_handles_are_the_linters() -> None:
    told = [str(one) for one in lint_chart(load_chart(FIRST))]
    assert any("RESET" in one for one in told), told


HEAD = "statechart:\n  name: small\n  root state:\n    name: small\n    initial: a\n"
DEFECTS: dict[str, tuple[str, str, list[str]]] = {
    "a state that is never entered": (
        "reachable",
        "    states:\n      - {name: a, transitions: [{event: E, target: c}]}\n      - {name: b, transitions: [{event: E, target: c}]}\n"
        "      - {name: c, type: final}\n",
        [],
    ),
    "a transition that another one shadows": (
        "reachable",
        "    states:\n      - {name: a, transitions: [{event: E, target: c}, {event: E, guard: g, target: a}]}\n"
        "      - {name: c, type: final}\n",
        [],
    ),
    "a timer that a shorter one always stops": (
        "reachable",
        "    states:\n      - {name: a, after: {2s: b, 1s: c}}\n      - {name: b, type: final}\n      - {name: c, type: final}\n",
        [],
    ),
    "a state that nothing leaves": (
        "stuck",
        "    states:\n      - {name: a, transitions: [{event: E, guard: g, target: c}, {event: E, target: b}]}\n"
        "      - {name: b}\n      - {name: c, type: final}\n",
        ["the machine starts", "event E"],
    ),
    "regions that wait for each other": (
        "end",
        "    states:\n      - name: a\n        transitions: [{event: done.state.a, target: c}]\n        parallel states:\n"
        "          - name: l\n            initial: l1\n            states:\n"
        "              - {name: l1, transitions: [{event: E, guard: in_state('r2'), target: l2}]}\n              - {name: l2, type: final}\n"
        "          - name: r\n            initial: r1\n            states:\n"
        "              - {name: r1, transitions: [{event: F, guard: in_state('l2'), target: r2}]}\n              - {name: r2, type: final}\n"
        "      - {name: c, type: final}\n",
        ["the machine starts"],
    ),
    "a way into a circle that no end leaves": (
        "end",
        "    states:\n      - {name: a, transitions: [{event: E, target: b}, {event: F, target: d}]}\n"
        "      - {name: b, transitions: [{event: E, target: c}]}\n      - {name: c, transitions: [{event: E, target: b}]}\n"
        "      - {name: d, type: final}\n",
        ["the machine starts", "event E"],
    ),
    "an eventless circle": (
        "stuck",
        "    states:\n      - {name: a, transitions: [{event: E, target: b}]}\n      - {name: b, always: [{target: c}]}\n"
        "      - {name: c, always: [{target: b}]}\n      - {name: d, type: final}\n",
        ["the machine starts", "event E"],
    ),
    "a retry without a bound": (
        "cycles",
        "    states:\n      - name: a\n        invoke: {id: i, src: work, on done: {target: c}, on error: {target: b}}\n"
        "      - {name: b, after: {1s: a}}\n      - {name: c, type: final}\n",
        ["the machine starts"],
    ),
    "an error that only one guard takes": (
        "errors",
        "    states:\n      - {name: a, transitions: [{event: E, target: b}]}\n      - name: b\n"
        "        invoke: {id: i, src: work, on done: {target: c}, on error: {guard: g, target: c}}\n      - {name: c, type: final}\n",
        ["the machine starts", "event E", "actor 'i' fails or times out"],
    ),
    "a cancelled machine that waits for a person": (
        "cancel",
        "    transitions: [{event: CANCEL, target: b}]\n    states:\n      - {name: a, transitions: [{event: E, target: c}]}\n"
        "      - {name: b, transitions: [{event: CONFIRM, target: c}]}\n      - {name: c, type: final}\n",
        ["the machine starts", "event CANCEL"],
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_refuted_with_its_shortest_way(name: str) -> None:
    property, rest, way = DEFECTS[name]
    found = explore(ControlSystem(parse_chart(HEAD + rest), Bounds()))
    findings = {one.property: one for one in check_properties(found)}
    finding = findings[property]
    assert finding.verdict is Verdict.REFUTED, finding.text
    assert [str(move) for move, _ in finding.way] == way
    assert replay(found.system, finding.way) == ""
