"""The orchestrator with its agents: real runtime, tools and workspace; only the model's replies are scripted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rawko.chart import find_chart, load_chart
from rawko.chart.definition import Chart
from rawko.interpreter import Bindings, thaw
from rawko.machines import agent_loop, orchestrator
from rawko.machines.agent_loop.actors import actors as agent_actors
from rawko.machines.orchestrator.actors import OrchestratorPorts, actors
from rawko.machines.orchestrator.arbiter.prompt import PLACEHOLDERS
from rawko.machines.prompts.prompts import Prompts
from rawko.providers.scripted.provider import ScriptedProvider
from rawko.providers.scripted.scenario import Scenario
from rawko.providers.scripted.scenario_file import load_scenario, parse_scenario
from rawko.runtime import Actor
from rawko.runtime.ports import Answer, Question
from rawko.vocabulary.agent import AgentConfig, describe
from tests.machines.followed import Followed
from tests.machines.opened_ports import opened_ports

CHART = load_chart(find_chart("orchestrator"))
AGENT_CHART = load_chart(find_chart("agent_loop"))
AGENTS = {
    name: AgentConfig(name=name, when_to_use=f"To be the {name}.", system_prompt=f"You are the {name}.")
    for name in ("planner", "developer", "tester", "reviewer")
}


class Nobody:
    """No person is there."""

    async def ask(self, question: Question) -> Answer | None:
        return None


@dataclass
class Bench(Followed):
    """A workspace, the ports on it, and what the orchestrator did."""

    provider: ScriptedProvider
    bindings: Bindings
    logged: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def running(self, **given: Any) -> AsyncIterator[Actor]:
        input = {"agents": {name: describe(agent).to_json() for name, agent in AGENTS.items()}, "seed": 1, **given}
        async with Actor(CHART, self.bindings, input=input, log=self._log) as actor:
            self.follow(actor)
            yield actor

    def _log(self, level: str, message: str, *more: Any) -> None:
        self.logged.append(message)

    async def run(self, task: str = "Write fizzbuzz", **given: Any) -> dict[str, Any]:
        async with self.running(**given) as actor:
            actor.send("START_TASK", task=task)
            output = thaw(await asyncio.wait_for(actor.run(), 180))
        assert isinstance(output, dict)
        return output


Open = Callable[..., Awaitable[Bench]]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Open]:
    """Open a bench on a scenario."""
    async with AsyncExitStack() as opened:

        async def open_bench(scenario: Scenario) -> Bench:
            provider = ScriptedProvider(scenario)
            ports = await opened.enter_async_context(opened_ports(tmp_path, provider, AGENTS, Nobody()))

            def machine(chart: str) -> tuple[Chart, Bindings]:
                assert chart == "agent_loop"
                return AGENT_CHART, agent_loop.bindings | agent_actors(ports)

            own = OrchestratorPorts(provider, "m", Prompts.load("orchestrator", PLACEHOLDERS), machine)
            return Bench(provider, orchestrator.bindings | actors(own))

        yield open_bench


def scripted(*replies: dict[str, Any]) -> Scenario:
    return parse_scenario(json.dumps({"scenario": "test", "replies": list(replies)}))


def decides(purpose: str, **decision: Any) -> dict[str, Any]:
    return {"purpose": purpose, "decision": {"reason": "because", **decision}}


def works(agent: str, *calls: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"purpose": f"agent:{agent}", "tool_calls": [{"name": n, "input": i} for n, i in calls], **more}


def completes(agent: str, summary: str = "done") -> dict[str, Any]:
    return works(agent, ("complete", {"summary": summary}))


@pytest.mark.slow
async def test_the_shipped_scenario_from_plan_to_review(bench: Open, tmp_path: Path) -> None:
    """Planner, developer, a failed and a good tester, reviewer, with an arbiter between each (C-13, C-24, C-48)."""
    place = await bench(load_scenario("fizzbuzz"))
    output = await place.run()
    assert (output["outcome"], output["iterations"]) == ("success", 5)
    assert [(run["agent"], run["result"]) for run in output["history"]] == [
        ("planner", "success"),
        ("developer", "success"),
        ("tester", "failure"),
        ("tester", "success"),
        ("reviewer", "success"),
    ]
    assert place.provider.unused() == ()
    assert "backing_off" in place.visited
    assert len(output["plan"]["steps"]) == 3
    assert {"fizzbuzz.py", "test_fizzbuzz.py"} <= set(output["files_changed"])
    assert (tmp_path / "workspace" / "fizzbuzz.py").is_file()
    assert output["usage"]["calls"] > 10 and output["usage"]["input_tokens"] > 5_000
    assert all(run["completed_at"] >= run["started_at"] > 0 for run in output["history"])
    assert "[rawko] Task completed in 5 iterations" in place.logged
    assert [event for event, _ in place.emitted][-1] == "SESSION_CLEANUP"


async def test_continue_resumes_the_agents_conversation(bench: Open) -> None:
    """C-01, C-35: the second run begins with the continuation prompt, after all that was said."""
    place = await bench(
        scripted(
            decides("select", type="SELECT_MODE", mode="developer"),
            works("developer", ("write", {"file_path": "a.txt", "content": "one"})),
            completes("developer", "half"),
            decides("evaluate", type="CONTINUE", reason="finish it"),
            works("developer", ("write", {"file_path": "b.txt", "content": "two"}),
                  expect={"last_message": ["Go on with the task.", "finish it"]}),
            completes("developer", "whole"),
            decides("evaluate", type="COMPLETE", summary="both written"),
        )
    )  # fmt: skip
    output = await place.run()
    assert (output["outcome"], output["files_changed"]) == ("success", ["a.txt", "b.txt"])
    assert [run["files_changed"] for run in output["history"]] == [["a.txt"], ["b.txt"]]
    assert place.provider.unused() == ()


async def test_a_rate_limited_arbiter_is_asked_again_later(bench: Open) -> None:
    """C-24."""
    place = await bench(
        scripted(
            {"purpose": "select", "error": {"code": "rate_limited", "message": "slow down", "retry_after": "1ms"}},
            decides("select", type="COMPLETE", summary="nothing to do"),
        )
    )
    output = await place.run()
    assert (output["outcome"], output["iterations"]) == ("success", 0)
    assert place.visited.count("backing_off") == 1
    assert "[rawko] Recovering from error: slow down" in place.logged


async def test_no_credit_fails_at_once(bench: Open) -> None:
    """C-13."""
    place = await bench(scripted({"purpose": "select", "error": {"code": "billing", "message": "no credit"}}))
    output = await place.run()
    assert (output["outcome"], output["error"]["code"], output["summary"]) == ("failure", "billing", "no credit")


async def test_cancel_stops_the_agents_tool_and_records_the_run(bench: Open, tmp_path: Path) -> None:
    """C-29, C-32: the command is killed, its call answered, the tree captured."""
    place = await bench(
        scripted(
            decides("select", type="SELECT_MODE", mode="developer"),
            works("developer", ("bash", {"command": "touch begun.txt; sleep 900"})),
        )
    )
    async with place.running() as actor:
        actor.send("START_TASK", task="Sleep")
        await asyncio.wait_for(_until(lambda: "AGENT_TOOL_CALL" in [event for event, _ in place.emitted]), 180)
        await asyncio.wait_for(_until((tmp_path / "workspace" / "begun.txt").exists), 180)
        actor.send("CANCEL")
        output = thaw(await asyncio.wait_for(actor.run(), 180))
    [run] = output["history"]
    assert (output["outcome"], run["result"], run["files_changed"]) == ("cancelled", "cancelled", ["begun.txt"])


async def test_a_forced_agent_takes_over(bench: Open, tmp_path: Path) -> None:
    """C-28."""
    place = await bench(
        scripted(
            decides("select", type="SELECT_MODE", mode="developer"),
            works("developer", ("bash", {"command": "touch begun.txt; sleep 900"})),
            completes("reviewer", "looked at it"),
            decides("evaluate", type="COMPLETE", summary="enough"),
        )
    )
    async with place.running() as actor:
        actor.send("START_TASK", task="Sleep")
        await asyncio.wait_for(_until(lambda: "AGENT_TOOL_CALL" in [event for event, _ in place.emitted]), 180)
        actor.send("FORCE_AGENT", agent_name="reviewer")
        output = thaw(await asyncio.wait_for(actor.run(), 180))
    assert [(run["agent"], run["result"]) for run in output["history"]] == [
        ("developer", "cancelled"),
        ("reviewer", "success"),
    ]


async def test_an_agent_that_needs_a_person_keeps_the_task_waiting(bench: Open) -> None:
    """The orchestrator stays in executing with the tag waiting."""
    place = await bench(
        scripted(
            decides("select", type="SELECT_MODE", mode="developer"),
            works("developer", ("clarify", {"question": "Which database?"})),
        )
    )
    async with place.running() as actor:
        actor.send("START_TASK", task="Ask")
        await actor.wait_for("waiting", timeout_s=180)
        assert actor.interpreter.matches("executing") and "waiting" in actor.interpreter.tags
        actor.send("CANCEL")
        output = thaw(await asyncio.wait_for(actor.run(), 180))
    assert output["outcome"] == "cancelled"


async def _until(holds: Callable[[], bool]) -> None:
    """Look again every 10 ms until it holds: a file that a command writes tells nobody that it is there."""
    for _ in range(18_000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never held")
