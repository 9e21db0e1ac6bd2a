"""The pages on this machine and its prompts say what is so: names are compared, snippets run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from rawko.chart import load_chart, shipped_path
from rawko.machines.agent_result import Outcome
from rawko.machines.orchestrator.arbiter.decision import DECISION_TYPES
from rawko.machines.orchestrator.arbiter.errors import CATEGORIES
from rawko.machines.orchestrator.arbiter.prompt import PLACEHOLDERS
from rawko.vocabulary.errors import RETRYABLE_CODES

CHARTS = shipped_path("statecharts")
DOCS = CHARTS.parent / "docs"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "machines" / "orchestrator.md").read_text(encoding="utf-8")


def test_the_snippets_run(page: str) -> None:
    snippets = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, "orchestrator.md", "exec"), {})


def test_the_overview_shows_only_what_the_chart_does(page: str) -> None:
    """C-12: a picture that was drawn once and never compared is how the first one went wrong."""
    chart = load_chart(CHARTS / "orchestrator.yaml")
    [drawn] = re.findall(r"```mermaid\n(.*?)```", page, re.DOTALL)
    arrows = set(re.findall(r"(\w+) --> (\w+)", drawn))
    ways = {(t.source, target) for t in chart.transitions for target in t.targets}
    inherited = {(inner, target) for source, target in ways for inner in chart.descendants(source)}
    assert arrows - ways - inherited == set()
    assert {state.name for state in chart if state.name != chart.root} == {name for pair in arrows for name in pair}


def test_the_page_names_every_state_event_decision_and_category(page: str) -> None:
    chart = load_chart(CHARTS / "orchestrator.yaml")
    states = {state.name for state in chart if state.name != chart.root}
    names = {*states, *chart.events, *DECISION_TYPES, *CATEGORIES, *RETRYABLE_CODES, *get_args(Outcome)}
    assert {name for name in names if not re.search(rf"\b{name}\b", page)} == set()


@pytest.mark.parametrize("decision", DECISION_TYPES)
def test_the_arbiter_is_told_of_every_decision_and_the_contract_has_it_for_both_questions(decision: str) -> None:
    prompt = (shipped_path("prompts") / "orchestrator" / "arbiter.md.j2").read_text(encoding="utf-8")
    assert f"\n- {decision}: " in prompt
    contract = (CHARTS / "orchestrator.feature").read_text(encoding="utf-8")
    for question in ("select_agent", "evaluate_progress"):
        assert re.search(rf'actor "{question}" is done with .*"type": "{decision}"', contract), question


def test_the_prompts_page_names_every_template_with_its_placeholders() -> None:
    page = (DOCS / "prompts.md").read_text(encoding="utf-8").partition("## The judge's templates")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]*\| ([^|]*) \|$", page, re.MULTILINE))
    told = {name: frozenset(re.findall(r"\w+", text)) - {"none"} for name, text in rows.items()}
    assert told == {name: frozenset(accepted) for name, accepted in PLACEHOLDERS.items()}


def test_the_contract_names_every_reading_that_changes_this_machines_behaviour() -> None:
    """Each ★★★ reading of S3 and S6 is a scenario that names its id."""
    contract = Path(CHARTS / "orchestrator.feature").read_text(encoding="utf-8")
    titles = " ".join(re.findall(r"Scenario: (.*)", contract))
    binding = ["C-01", "C-02", "C-03", "C-04", "C-09", "C-13", "C-24", "C-25", "C-26", "C-29", "C-40"]
    assert [reading for reading in binding if reading not in titles] == []
