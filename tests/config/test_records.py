"""Settings in records: everything that a run was started with comes back, from records of earlier versions, too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rawko.app.records.record import read_record
from rawko.app.records.record_changes import write_record
from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.config.recorded import recorded
from rawko.config.row import rows
from rawko.trust.project import grant
from rawko.vocabulary.budget import Rate

EVERYTHING = """\
model: m
max_iterations: 3
max_consecutive_failures: 4
max_tokens: 5
timeout_ms: 600
rules: [deny bash]
prices: {m: {input: 1, output: 2}}
budget: {tokens: 7, cost_usd: 1.5, time: 2m}
rate: {tools_per_minute: 8}
context_window: 9000
headless: default
default_answers: {clarify: x}
bash: {default_timeout_ms: 500, extra_env: [CI]}
sandbox: true
lanes: {share: [node_modules], setup: make deps, setup_timeout: 5m, disk: 1GB, port_base: 3000, jobs: 2}
fallback: {model: b, provider: openai, when: [billing], after: 0}
sub_agents: {depth: 2, turns: 3, tool_steps: 4, tokens: 5, cost_usd: 6}
evidence: [{check: "true", name: tests}, {exists: a}]
evidence_refusals: 2
monitors: [plan_before_code, {monitor: agent_loop, violation: report, machine: agent_loop}]
arbiter_cache: true
mcp: {notes: {command: [sh]}}
prompts: .
"""
FIRST = (
    *("workspace", "provider", "model", "scenario", "agents", "max_iterations", "max_consecutive_failures"),
    *("max_tokens", "timeout_ms", "rules", "prices", "bash", "prompts_dir", "assume_yes", "project_instructions"),
)
"""What the first records held."""


@pytest.fixture
def begun(tmp_path: Path) -> tuple[Settings, Settings, Path]:
    """Settings of a run, those of the folder as it is later, and the run's record."""
    project = tmp_path / "project"
    (project / ".rawko").mkdir(parents=True)
    environ = {"RAWKO_STATE_DIR": str(tmp_path / "state")}
    now = load_settings(project, Flags(), environ)
    (project / ".rawko" / "config.yaml").write_text(EVERYTHING)
    begun = load_settings(project, Flags(assume_yes=True), environ, judge=grant)
    write_record(begun, "r", "task", None)
    return begun, now, begun.state_dir / "runs" / "r" / "run.json"


def test_a_run_comes_back_with_what_it_was_started_with(begun: tuple[Settings, Settings, Path]) -> None:
    then, now, _ = begun
    found = read_record("r", now).settings
    names = [row.name for row in rows(Settings) if row.setting.recorded != "never"]
    differing = [name for name in names if getattr(found, name) != getattr(then, name)]
    assert differing == []
    same = {name for name in names if getattr(then, name) == getattr(now, name)}
    assert same == {
        "workspace",
        "provider",
        "scenario",
        "cassette",
        "record",
        "agents",
        "project_instructions",
        "command_env",
        "origin",
    }, "all else is given another value above, so that a lost one shows"


def test_a_record_of_the_first_version_still_loads(begun: tuple[Settings, Settings, Path]) -> None:
    then, now, path = begun
    change(path, lambda settings: {name: settings[name] for name in FIRST})
    found = read_record("r", replace(now, rate=Rate(calls_per_minute=6))).settings
    assert (found.max_iterations, found.bash.extra_env, found.prompts_dir) == (3, ("CI",), then.prompts_dir)
    assert (found.headless, found.sandbox, found.budget.tokens, found.context_window) == ("park", False, None, None)
    assert found.rate == Rate(calls_per_minute=6), "a rate limit was not recorded: the user's own counts"


@pytest.mark.parametrize("name", FIRST)
def test_a_record_that_has_lost_a_setting_is_damaged(begun: tuple[Settings, Settings, Path], name: str) -> None:
    _, now, path = begun
    change(path, lambda settings: {key: value for key, value in settings.items() if key != name})
    with pytest.raises(ConfigError, match=f"damaged: settings.{name}: field required"):
        read_record("r", now)


def change(path: Path, changed: Any) -> None:
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "settings": changed(data["settings"])}))


def test_no_address_is_recorded(begun: tuple[Settings, Settings, Path]) -> None:
    then, _, _ = begun
    text = json.dumps(recorded(replace(then, base_url="http://secret@host", environ={"KEY": "k"})))
    assert "secret" not in text
    assert "KEY" not in text
