"""docs/machines/node_engine.md tells the truth: its diagram, its tables and its snippets are those of the machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from rawko.chart import Chart, find_chart, load_chart
from rawko.machines.node_engine import (
    ACTORS,
    Budgets,
    NodeEngineContext,
    NodePolicy,
    Policies,
    RunReport,
    bindings,
    notes,
    parse_policies,
)
from rawko.machines.node_engine.context import PATH_LIMIT, BudgetReason, FailureReason
from rawko.machines.node_engine.drivers.choice import DEFAULT, DRIVERS, FLAG
from tests.machines.documented import Documented

DOC = Path(__file__).parents[3] / "docs" / "machines" / "node_engine.md"
TEXT = DOC.read_text(encoding="utf-8")
CHART: Chart = load_chart(find_chart("node_engine"))
PAGE = Documented(TEXT, CHART)
NAMED = set(re.findall(r"`([a-z_]+)`", TEXT))


def test_the_diagram_is_the_charts() -> None:
    (diagram,) = PAGE.snippets("mermaid")
    edges = set(re.findall(r"^ +(\w+) --> (\w+)", diagram, re.MULTILINE))
    assert [edge for edge in edges if not PAGE.has_way(*edge)] == []
    inner = {"resting", "watching"}
    ways = {
        (t.source, target)
        for t in CHART.transitions
        for target in t.targets
        if t.source != CHART.root and not {t.source, target} & inner and target != "failed"
    }
    assert ways <= edges, "but for the failures of calls, every way is drawn"


def test_every_state_and_actor_is_described() -> None:
    assert {state.name for state in CHART if state.name != CHART.root} <= NAMED
    assert set(ACTORS) <= NAMED


def test_the_reasons_and_defaults_are_the_machines() -> None:
    assert {*get_args(FailureReason), *get_args(BudgetReason)} <= NAMED
    assert set(DRIVERS) <= NAMED
    assert f"| `{DEFAULT}` (default) |" in TEXT and FLAG in TEXT
    assert f"`attempts` ({Budgets().attempts})" in TEXT
    assert f"its last\n{PATH_LIMIT} nodes" in TEXT
    policy = NodePolicy()
    assert f"| `retry.max_retries` | {policy.retry.max_retries} |" in TEXT
    assert f"| `retry.base_ms`, `retry.cap_ms` | {policy.retry.base_ms}, {policy.retry.cap_ms} |" in TEXT
    assert f"| `timeout_ms` | {policy.timeout_ms} |" in TEXT
    assert set(RunReport.model_fields) <= NAMED
    assert {"check_every_ms", "attempt_timeout_ms", "call_timeout_ms"} <= NAMED & set(NodeEngineContext.model_fields)


def test_the_events_told_are_all_named() -> None:
    code = Path(notes.__file__).read_text(encoding="utf-8")
    told = set(re.findall(r'Note\("([A-Z_]+)"', code)) | {notes.INTERRUPTED}
    assert len(told) == 8
    assert told <= set(re.findall(r"[A-Z_]{6,}", TEXT))


def test_the_snippets_run() -> None:
    names: dict[str, object] = {}
    for code in PAGE.snippets("python"):
        exec(compile(code, str(DOC), "exec"), names)
    (policies,) = PAGE.snippets("yaml")
    assert parse_policies(policies).default == Policies().default


def test_the_chart_names_only_what_is_bound_and_uses_all_of_it() -> None:
    words = set(re.findall(r"\w+", find_chart("node_engine").read_text(encoding="utf-8")))
    assert {name for kind, name, _ in bindings if name not in words} == set()
