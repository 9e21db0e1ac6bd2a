"""docs/machines/agent_loop.md tells the truth: its diagram, its tables and its Python are those of the machine."""

from __future__ import annotations

import re
from pathlib import Path

from rawko.chart import Chart, find_chart, load_chart
from rawko.machines.agent_loop import AgentLoopContext, bindings, inputs
from rawko.machines.agent_loop.control import MODELS
from rawko.vocabulary.errors import RETRYABLE_CODES
from tests.machines.documented import Documented

DOC = Path(__file__).parents[3] / "docs" / "machines" / "agent_loop.md"
TEXT = DOC.read_text(encoding="utf-8")
CHART: Chart = load_chart(find_chart("agent_loop"))
PAGE = Documented(TEXT, CHART)


def test_every_edge_of_the_diagram_is_a_way_through_the_chart() -> None:
    (diagram,) = PAGE.snippets("mermaid")
    edges = re.findall(r"^ +(\w+) --> (\w+)", diagram, re.MULTILINE)
    assert len(edges) > 25
    assert [edge for edge in edges if not PAGE.has_way(*edge)] == []


def test_every_state_is_in_the_table() -> None:
    (table,) = re.findall(r"^## States\n(.*?)^Tags:", TEXT, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`(\w+)`", table))
    assert {state.name for state in CHART if state.name != CHART.root} <= named


def test_the_tables_name_what_there_is() -> None:
    named = set(re.findall(r"`([a-z_]+)`", TEXT))
    assert set(MODELS) | RETRYABLE_CODES <= named
    assert all(set(model.model_fields) <= named for model in MODELS.values())
    context = AgentLoopContext()
    for bound in ("max_retries", "max_nudges", "max_continuations", "max_compactions"):
        assert re.search(rf"^\| `{bound}`.*\| {getattr(context, bound)} \|", TEXT, re.MULTILINE)
    assert f"| {context.limits.turns} | `limit`, reason `turns` |" in TEXT
    assert f"| {context.limits.tool_steps} | `limit`, reason `tool_steps`" in TEXT
    output = inputs.bindings.get("output", "agent_output")(context, None)
    assert set(output) <= named


def test_the_events_told_are_all_named() -> None:
    folder = Path(inputs.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    told = set(re.findall(r"(?:tell|tell_observers|emit)\(\s*\"([A-Z_]+)\"", code))
    assert len(told) > 10
    assert told <= set(re.findall(r"[A-Z_]{6,}", TEXT))


def test_the_example_runs() -> None:
    (code,) = PAGE.snippets("python")
    exec(compile(code, str(DOC), "exec"), {})


def test_the_chart_names_only_what_is_bound_and_uses_all_of_it() -> None:
    text = find_chart("agent_loop").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", text))
    unused = {name for kind, name, _ in bindings if name not in words}
    assert unused == set()
