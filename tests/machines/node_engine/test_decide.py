"""What follows from an attempt: the seed's order, the readings of C-60, and that chart and loop decide alike."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from typer.testing import CliRunner

from rawko.chart import Chart, find_chart, load_chart, parse_chart
from rawko.chart.definition import CallAction, GuardCall, Transition
from rawko.chart.lint.linting import lint_chart
from rawko.cli.commands.application import application
from rawko.interpreter import Event, Record, freeze
from rawko.machines.node_engine import NodeEngineContext, bindings
from rawko.machines.node_engine.decide import TABLE, Decision, decide, is_way_back, planned_delay_ms, target_of

CHART: Chart = load_chart(find_chart("node_engine"))
HERE = "a"


def context(result: dict[str, Any] | None, **fields: Any) -> NodeEngineContext:
    return NodeEngineContext.model_validate({"seed": 1, "node_name": HERE, "result": result, **fields})


def frozen(given: NodeEngineContext) -> NodeEngineContext:
    """As guards see it."""
    found = freeze(given.to_json())
    assert isinstance(found, Record)
    return cast(NodeEngineContext, found)


FAILURE = {"outcome": "FAILURE"}
SUCCESS = {"outcome": "SUCCESS"}
TOLD: dict[str, Any] = {"error": {"message": "x", "category": "timeout", "retry_after_ms": 9_000}}
CHARTS: dict[str, Any] = {"policy": "chart"}


def policies(**own: Any) -> dict[str, Any]:
    return {"nodes": {HERE: own}}


ROWS: list[tuple[str, dict[str, Any] | None, dict[str, Any], Decision]] = [
    ("1: delay and the same node", {**FAILURE, "next_node": HERE, "retry_delay_ms": 5}, {}, "retry"),
    ("1: 0 is not None (C-63)", {**FAILURE, "next_node": HERE, "retry_delay_ms": 0}, {}, "retry"),
    ("1: after a success", {**SUCCESS, "next_node": HERE, "retry_delay_ms": 5}, {}, "retry"),
    ("1: before an unknown outcome", {"next_node": HERE, "retry_delay_ms": 5}, {}, "retry"),
    ("1b: delay and another node (C-60)", {**FAILURE, "next_node": "b", "retry_delay_ms": 5}, {}, "wait_and_go_on"),
    ("1b: 0 is not None", {**SUCCESS, "next_node": "b", "retry_delay_ms": 0}, {}, "wait_and_go_on"),
    ("2: back", {**FAILURE, "next_node": "b", "backtracked": True}, {}, "backtrack"),
    ("2: back, whatever the outcome", {"next_node": "b", "backtracked": True}, {}, "backtrack"),
    ("3: on", {**SUCCESS, "next_node": "b"}, {}, "transition"),
    ("3: on to itself", {**SUCCESS, "next_node": HERE}, {}, "transition"),
    ("4: the end", SUCCESS, {}, "finish"),
    ("4: a delay before nothing", {**SUCCESS, "retry_delay_ms": 5}, {}, "finish"),
    ("4: back to nowhere", {**SUCCESS, "backtracked": True}, {}, "finish"),
    ("4b: the engine chose (C-60)", {**FAILURE, "next_node": "b"}, {}, "transition"),
    ("5: failed", FAILURE, {}, "fail_node"),
    ("5: a delay before nothing", {**FAILURE, "retry_delay_ms": 5}, {}, "fail_node"),
    ("6: no outcome (C-60)", {"outcome": None}, {}, "fail_undecidable"),
    ("6: no outcome, but a node", {"next_node": "b"}, {}, "fail_undecidable"),
    ("6: no result at all", None, {}, "fail_undecidable"),
    ("the cap", {**FAILURE, "next_node": "b", "backtracked": True}, {"backtracks": 10}, "backtrack_limit"),
    ("the cap, after a wait", {"next_node": "b", "backtracked": True, "retry_delay_ms": 1}, {"backtracks": 10},
     "backtrack_limit"),
    ("the cap is for ways back", {**SUCCESS, "next_node": "b"}, {"backtracks": 10}, "transition"),
    ("chart: again", FAILURE, CHARTS, "retry"),
    ("chart: not again", {**FAILURE, "is_retryable": False}, CHARTS, "fail_node"),
    ("chart: retries used up", FAILURE, {**CHARTS, "retries": 3}, "fail_node"),
    ("chart: elsewhere", FAILURE, {**CHARTS, "retries": 3, "policies": policies(on_failure="b")}, "transition"),
    ("chart: back", FAILURE, {**CHARTS, "retries": 3, "path": ["b"], "policies": policies(can_backtrack=True)},
     "backtrack"),
    ("chart: nowhere to go back to", FAILURE, {**CHARTS, "retries": 3, "policies": policies(can_backtrack=True)},
     "fail_node"),
    ("chart: what the node chose stands", {**FAILURE, "next_node": "b"}, CHARTS, "transition"),
    ("engine: the chart keeps out of it", FAILURE, {"path": ["b"], "policies": policies(can_backtrack=True)},
     "fail_node"),
]  # fmt: skip


@pytest.mark.parametrize(("result", "fields", "decision"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_each_kind_of_result(result: dict[str, Any] | None, fields: dict[str, Any], decision: Decision) -> None:
    assert decide(context(result, **fields)) == decision


def every_context() -> Iterator[NodeEngineContext]:
    """Every kind of result in every kind of state, as far as decisions can tell them apart."""
    results = [
        {"outcome": outcome, "next_node": next_node, "retry_delay_ms": delay, "backtracked": back, "is_retryable": may}
        for outcome, next_node, delay, back, may in itertools.product(
            ("SUCCESS", "FAILURE", None), (None, HERE, "b"), (None, 0, 7), (False, True), (False, True)
        )
    ]
    states = [
        {"policy": policy, "retries": retries, "backtracks": backtracks, "path": path, "policies": {"nodes": nodes}}
        for policy, retries, backtracks, path, nodes in itertools.product(
            ("engine", "chart"),
            (0, 3),
            (0, 10),
            ([], ["b"]),
            ({}, {HERE: {"on_failure": "c"}}, {HERE: {"can_backtrack": True}}),
        )
    ]
    for result, state in itertools.product([None, *results], states):
        yield context(result, **state)


SAID_BY_CHART: dict[tuple[str, tuple[str, ...]], Decision] = {
    ("failed", ("fail_backtracking",)): "backtrack_limit",
    ("waiting_retry", ("schedule_retry",)): "retry",
    ("waiting_retry", ("take_way", "schedule_wait")): "wait_and_go_on",
    ("backtracking", ()): "backtrack",
    ("transitioning", ()): "transition",
    ("finished", ()): "finish",
    ("failed", ("fail_node",)): "fail_node",
    ("failed", ("fail_undecidable",)): "fail_undecidable",
}


def said(way: Transition) -> Decision:
    (target,) = way.targets
    return SAID_BY_CHART[target, tuple(each.name for each in way.actions if isinstance(each, CallAction))]


def holds(way: Transition, given: NodeEngineContext) -> bool:
    if way.guard is None:
        return True
    assert isinstance(way.guard, GuardCall)
    return bool(bindings.get("guard", way.guard.name)(given, Event("X")))


def test_the_chart_decides_as_the_table_does_on_every_kind_of_result() -> None:
    ways = CHART["deciding"].transitions
    reached = set()
    for given in every_context():
        seen_by_guards = frozen(given)
        expected = decide(given)
        assert said(next(way for way in ways if holds(way, seen_by_guards))) == expected
        assert decide(seen_by_guards) == expected
        reached.add(expected)
    assert reached == set(get_args(Decision)), "every decision is met"


def test_the_chart_asks_the_tables_questions_in_the_tables_order() -> None:
    ways = CHART["deciding"].transitions
    names = [way.guard.name for way in ways if isinstance(way.guard, GuardCall)]
    assert names == [asks.__name__ for asks, _ in TABLE]
    assert [said(way) for way in ways] == [*(decision for _, decision in TABLE), "fail_undecidable"]


LAST_WAYS = {
    "deciding": "          - {target: failed, action: fail_undecidable}\n",
    "ending": "          - {target: stopped}\n",
}
"""The way out of a state that is left when all guards before it are false."""


def test_the_lint_proves_that_every_choice_is_total() -> None:
    transient = {state.name for state in CHART if "transient" in state.tags}
    assert transient == {"deciding", "backtracking", "transitioning", "ending"}
    assert lint_chart(CHART) == ()


@pytest.mark.parametrize("state", LAST_WAYS)
def test_the_lint_finds_a_choice_that_is_not_total(state: str) -> None:
    text = find_chart("node_engine").read_text(encoding="utf-8")
    assert text.count(LAST_WAYS[state]) == 1
    (found,) = lint_chart(parse_chart(text.replace(LAST_WAYS[state], "")))
    assert found.code == "undecided-transient"
    assert repr(state) in found.message


@pytest.mark.parametrize("state", LAST_WAYS)
def test_rawko_check_fails_on_a_choice_that_is_not_total(state: str, tmp_path: Path) -> None:
    text = find_chart("node_engine").read_text(encoding="utf-8")
    path = tmp_path / "node_engine.yaml"
    path.write_text(text.replace(LAST_WAYS[state], ""), encoding="utf-8")
    done = CliRunner().invoke(application(), ["check", str(path)])
    assert done.exit_code == 1
    assert f"undecided-transient: state {state!r}" in done.output
    assert re.match(rf"{re.escape(str(path))}:\d+:\d+: ", done.output)


def test_what_is_decided_has_a_target_a_direction_and_a_delay() -> None:
    for given in every_context():
        match decide(given):
            case "transition":
                assert target_of(given) in (HERE, "b", "c")
                assert not is_way_back(given)
            case "backtrack":
                assert target_of(given) in (HERE, "b")
                assert is_way_back(given)
            case "retry" | "wait_and_go_on":
                assert planned_delay_ms(given) >= 0
            case _:
                pass


def test_a_delay_of_the_charts_own_is_settled_by_the_seed() -> None:
    given = context({**FAILURE}, policy="chart", retries=2, step_ordinal=5)
    again, other = given.model_copy(update={"seed": 1}), given.model_copy(update={"seed": 2})
    assert planned_delay_ms(given) == planned_delay_ms(again) != planned_delay_ms(other)
    assert 1_000 <= planned_delay_ms(given) <= 2_000, "the second of 1 s doubling, half of it jitter"
    assert planned_delay_ms(context({**FAILURE, **TOLD}, policy="chart", retries=1)) == 9_000
