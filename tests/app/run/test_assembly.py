"""The machine of a run: what of the settings and of the agents' files it is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rawko.app import Run
from rawko.config import Flags, load_settings

AGENT = """\
name: prover
when_to_use: to prove
system_prompt: You prove.
limits: {turns: 3, tool_steps: 7}
context: {history_select: 4, summary_chars: {select: 20}}
tools: {blocked: [bash]}
"""
CONFIG = "max_iterations: 7\nmax_consecutive_failures: 2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    agents = project / ".rawko" / "agents"
    agents.mkdir(parents=True)
    (agents / "prover.yaml").write_text(AGENT, encoding="utf-8")
    (project / ".rawko" / "config.yaml").write_text(CONFIG, encoding="utf-8")
    return project


def given(folder: Path, *, agent: str | None = None, **more: Any) -> Mapping[str, Any]:
    """The input of a run's machine."""
    environ = {"RAWKO_STATE_DIR": str(folder.parent / "state"), "PATH": "/usr/bin:/bin"}
    settings = load_settings(folder, Flags(scenario="fizzbuzz"), environ)
    return Run(settings, "Work", agent=agent, **more).machine()[2]


def test_the_orchestrator_is_told_its_session_provider_and_bounds(folder: Path) -> None:
    """S3-002, S3-016, S6-022."""
    told = given(folder, id="run-1")
    assert (told["session_id"], told["provider_name"]) == ("run-1", "scripted")
    assert (told["max_iterations"], told["max_consecutive_failures"]) == (7, 2)


def test_the_orchestrator_is_told_what_the_agents_files_say(folder: Path) -> None:
    """S3-062, S3-070, S6-110, C-21: the project's agents with their limits, context and tools."""
    agents = given(folder)["agents"]
    assert list(agents) == ["prover"]
    prover = agents["prover"]
    assert (prover["limits"]["turns"], prover["limits"]["tool_steps"]) == (3, 7)
    assert (prover["context"]["history_select"], prover["context"]["summary_chars"]["select"]) == (4, 20)
    assert prover["tools"]["blocked"] == ["bash"]


@pytest.mark.parametrize("agent", [None, "prover"])
def test_every_run_has_a_seed_of_its_own(folder: Path, agent: str | None) -> None:
    """C-67: chance comes from the run's id, so a replay waits as long and two runs do not wait alike."""
    seeds = {given(folder, agent=agent, id=run)["seed"] for run in ("run-1", "run-2", "run-3")}
    assert len(seeds) == 3
    assert given(folder, agent=agent, id="run-1")["seed"] == given(folder, agent=agent, id="run-1")["seed"]


def test_an_agent_alone_has_the_limits_of_its_file(folder: Path) -> None:
    """S3-062, C-21."""
    told = given(folder, agent="prover")
    assert (told["limits"]["turns"], told["limits"]["tool_steps"], told["prompt"]) == (3, 7, "Work")
