"""The `task` tool: an agent gives a task to another agent of the project.

The tool checks the call; the machine of the calling agent then runs the other agent as a child machine, whose result is
the result of the call. See the state `running_agent` of `statecharts/agent_loop.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from rawko.runtime.ports import ToolOutcome, ToolSpec
from rawko.tools.base import Arguments, Run, Tool, ToolFailure, object_schema
from rawko.vocabulary.agent import AgentConfig
from rawko.vocabulary.agent_path import SEPARATOR, TASK, agents_in, callable_agents
from rawko.vocabulary.documents import accepted

MAX_CHARS: Final = 100_000
"""Longest task, and longest context of a task."""
BEGINS_AGENT: Final = "begins_agent"
"""Key in the details of an outcome: the agent that the machine must run now."""


class Task(Tool):
    """Lets an agent call another one.

    Args:
        agents: The agents of the project.
        depth: How many levels deep agents may call agents.
    """

    spec = ToolSpec(
        name=TASK,
        description=(
            "Give a task to another agent and get its report. It works in the same folder, sees nothing of this "
            "conversation, and has no tool that you do not have. Its report is this call's result; the calls of one "
            "message are carried out one after the other."
        ),
        input_schema=object_schema(
            {
                "agent": {"type": "string", "minLength": 1, "description": "The agent's name."},
                "task": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_CHARS,
                    "description": "What it is to do, and what it is to report, in words that stand by themselves.",
                },
                "context": {
                    "type": "string",
                    "maxLength": MAX_CHARS,
                    "description": "What it needs to know: files, decisions, what was tried.",
                },
            },
            required=("agent", "task"),
        ),
        is_read_only=True,  # it only starts the other agent, whose own tool calls are captured
    )
    pattern_kind = "none"

    def __init__(self, agents: Mapping[str, AgentConfig], *, depth: int) -> None:
        self._agents, self._depth = agents, depth

    def refusal(self, agent: str) -> str | None:
        path = agents_in(agent)
        if len(path) > self._depth:
            above = f" ({agent})" if len(path) > 1 else ""
            return f"agents may be called {self._depth} deep{above}, by the setting sub_agents.depth"
        return None if callable_agents(self._agents, agent) else f"there is no agent that {path[-1]!r} may call"

    def spec_for(self, agent: str) -> ToolSpec:
        """The tool's specification with the agents that may be called, and the purpose of each."""
        known = callable_agents(self._agents, agent)
        told = "".join(f"\n- {one.name}: {' '.join(one.when_to_use.split())}" for one in known)
        schema: dict[str, Any] = dict(self.spec.input_schema)
        named = {**schema["properties"]["agent"], "enum": [one.name for one in known]}
        schema["properties"] = {**schema["properties"], "agent": named}
        return replace(self.spec, description=f"{self.spec.description} The agents:{told}", input_schema=schema)

    def subject(self, arguments: Arguments) -> None:
        return None

    async def run(self, run: Run) -> ToolOutcome:
        name, known = run.arguments["agent"], [one.name for one in callable_agents(self._agents, run.agent)]
        if not run.arguments["task"].strip():
            raise ToolFailure("the task is empty; accepted: what the agent is to do, in words", code="invalid_input")
        if name not in known:
            above = name in agents_in(run.agent)
            why = f" is running already ({run.agent.replace(SEPARATOR, ' called ')})" if above else " cannot be called"
            raise ToolFailure(f"the agent {name!r}{why}{accepted(known, found=name)}", code="not_found")
        return ToolOutcome(f"{name} begins", touched=(), details={BEGINS_AGENT: name})
