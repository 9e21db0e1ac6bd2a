"""An agent that others have called is held to what holds for each of them; and the tool `task`, by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rawko.runtime.ports import ToolSpec
from rawko.tools.task import BEGINS_AGENT, Task
from rawko.tools.toolbox import Tools, build_toolbox
from rawko.vocabulary.agent import AgentConfig, ToolAccess
from rawko.vocabulary.agent_path import agent_path
from rawko.vocabulary.messages import ToolCall

CALLED = agent_path(("dev", "tester"))


def config(name: str, **fields: Any) -> AgentConfig:
    return AgentConfig.model_validate({"name": name, "when_to_use": f"for {name}", "system_prompt": "s", **fields})


AGENTS = {
    one.name: one
    for one in (
        config("dev", sub_agents=["tester", "deep"]),
        config("tester"),
        config("deep", tools={"allowed": ["task"]}),
        config("round", chart="gauntlet"),
    )
}


def box(tmp_path: Path, *rules: str, yes: bool = False, depth: int = 1, **access: ToolAccess) -> Tools:
    (tmp_path / "ws").mkdir(exist_ok=True)
    return build_toolbox(
        tmp_path / "ws",
        state_dir=tmp_path / "st",
        rules=rules,
        assume_yes=yes,
        agents={name: access.get(name, ToolAccess()) for name in AGENTS},
        extra_tools=[Task(AGENTS, depth=depth)],
    )


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="c1", name=name, input=arguments)


WRITE, READ, BASH = call("write", file_path="a", content=""), call("read", file_path="a"), call("bash", command="true")


@pytest.mark.parametrize(
    ("rules", "asked", "decision"),
    [
        ([], READ, "allow"),
        ([], WRITE, "ask"),
        (["allow write"], WRITE, "allow"),
        (["allow write for tester"], WRITE, "ask"),
        (["allow write for tester", "allow write for dev"], WRITE, "allow"),
        (["deny write for dev", "allow write"], WRITE, "deny"),
        (["deny write for tester", "allow write"], WRITE, "deny"),
        (["ask read for dev"], READ, "ask"),
        (["deny bash(true) for dev", "allow bash"], BASH, "deny"),
        (["deny bash(true) for deep", "allow bash"], BASH, "allow"),
    ],
)
def test_the_strictest_decision_of_an_agent_and_its_callers_counts(
    tmp_path: Path, rules: Sequence[str], asked: ToolCall, decision: str
) -> None:
    assert box(tmp_path, *rules).check(CALLED, asked).decision == decision


def test_it_has_the_tools_that_all_of_them_have(tmp_path: Path) -> None:
    tools = box(tmp_path, dev=ToolAccess(allowed=("read", "grep")), tester=ToolAccess(allowed=("read", "bash")))
    assert [spec.name for spec in tools.specs(CALLED)] == ["read"]
    verdict = tools.check(CALLED, BASH)
    assert (verdict.decision, verdict.reason) == ("deny", "agent 'dev' may not use 'bash'")


async def test_files_that_one_of_them_may_not_read_are_not_found(tmp_path: Path) -> None:
    tools = box(tmp_path, "deny read(secret*) for dev")
    for name in ("secret.txt", "open.txt"):
        (tmp_path / "ws" / name).write_text("word")
    found = await tools.run(CALLED, call("grep", pattern="word"))
    assert "open.txt" in found.content and "secret.txt" not in found.content
    await tools.aclose()


def spec_of(tools: Tools, agent: str) -> ToolSpec | None:
    return next((spec for spec in tools.specs(agent) if spec.name == "task"), None)


def test_the_model_is_told_whom_it_may_call(tmp_path: Path) -> None:
    spec = spec_of(box(tmp_path), "dev")
    assert spec is not None
    assert spec.input_schema["properties"]["agent"]["enum"] == ["tester", "deep"]
    assert "- tester: for tester" in spec.description and "round" not in spec.description


@pytest.mark.parametrize(("depth", "path", "is_told"), [(1, ("dev", "deep"), False), (2, ("dev", "deep"), True)])
def test_an_agent_below_the_depth_does_not_have_the_tool(
    tmp_path: Path, depth: int, path: tuple[str, ...], is_told: bool
) -> None:
    assert (spec_of(box(tmp_path, depth=depth), agent_path(path)) is not None) == is_told


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"agent": "tester"}, "'task' is missing"),
        ({"agent": "tester", "task": " "}, "the task is empty"),
        ({"agent": "testr", "task": "x"}, "the agent 'testr' cannot be called; did you mean 'tester'?"),
        ({"agent": "dev", "task": "x"}, "the agent 'dev' is running already (dev)"),
        ({"agent": "round", "task": "x"}, "the agent 'round' cannot be called"),
        ({"agent": "tester", "task": "x", "why": "y"}, "why"),
    ],
)
async def test_a_call_that_cannot_be_is_an_error_with_what_is_accepted(
    tmp_path: Path, given: dict[str, Any], problem: str
) -> None:
    outcome = await box(tmp_path, yes=True).run("dev", call("task", **given))
    assert outcome.is_error and problem in outcome.content, outcome.content
    assert BEGINS_AGENT not in outcome.details


async def test_a_call_that_passes_names_the_agent_that_begins(tmp_path: Path) -> None:
    outcome = await box(tmp_path).run("dev", call("task", agent="tester", task="x"))
    assert (outcome.details[BEGINS_AGENT], outcome.is_error, outcome.touched) == ("tester", False, ())
