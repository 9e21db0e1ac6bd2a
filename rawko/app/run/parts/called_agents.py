"""The actor `call_agent`: the machine of an agent that another agent calls with the tool `task`.

The called agent belongs to the same run: it shares journal, gate, budget and workspace. Each of its tool calls
gives the gate the names of its callers, and it has no tool that they lack; see `rawko.vocabulary.agent_path`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rawko.chart.definition import Chart
from rawko.config import ConfigError, Settings
from rawko.config.blocks import SubAgentOptions
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop import agent_loop_input
from rawko.machines.agent_loop.sub_agents.results import called_result
from rawko.machines.prompts.prompts import Prompts
from rawko.runtime.actor_kinds import ActorFailed, ChildFactory, ChildMachine, child_machine
from rawko.vocabulary.agent import AgentConfig, Limits
from rawko.vocabulary.agent_path import CALL_AGENT, CALLABLE_CHART, TASK, calls_agents
from rawko.vocabulary.documents import accepted

Machine = tuple[Chart, Bindings]


def calling_agents(settings: Settings, prompts: Prompts, machine: Callable[[], Machine]) -> ChildFactory:
    """The actor `call_agent`, for the agents of a run.

    Args:
        prompts: Templates of the agent loop.
        machine: Gives chart and bindings of called agents; called at each call of an agent.
    """

    @child_machine
    def call_agent(given: Any) -> ChildMachine:
        asked = thaw(given)
        callers = asked.get("called_by") if isinstance(asked, dict) else None
        if not callers or not isinstance(callers, list) or not isinstance(asked.get("task"), str):
            raise _invalid(f"its input is {asked!r:.60}; accepted: what the state 'running_agent' gives it")
        for name in (*callers, asked.get("agent")):
            if not isinstance(name, str) or name not in settings.agents:
                raise _invalid(f"there is no agent {name!r}{accepted(settings.agents, found=str(name))}")
        config = settings.agents[asked["agent"]]
        called = config.model_copy(update={"limits": narrowed(config.limits, settings.sub_agents)})
        prompt = prompts.render("called", task=asked["task"], context=asked.get("context") or "", caller=callers[-1])
        told = agent_loop_input(called, prompt, seed=asked.get("seed") or 0)
        told["can_update_plan"] = told["can_update_plan"] and asked.get("can_update_plan", True)
        return ChildMachine(*machine(), {**told, "called_by": callers}, called_result)

    return call_agent


def _invalid(problem: str) -> ActorFailed:
    return ActorFailed({"message": f"{CALL_AGENT}: {problem}", "category": "validation_error"})


def narrowed(limits: Limits, options: SubAgentOptions) -> Limits:
    """The limits of a called agent: for each, the lower of the agent's own and the settings' limit per call."""
    each = {}
    for name in ("turns", "tool_steps", "tokens", "cost_usd"):
        bounds = [bound for bound in (getattr(limits, name), getattr(options, name)) if bound is not None]
        each[name] = min(bounds, default=None)
    return limits.model_copy(update=each)


def check_calls(agents: Mapping[str, AgentConfig], machines: Mapping[str, Machine]) -> None:
    """Refuse agents' files whose calls of other agents would fail, before a task starts.

    Raises:
        ConfigError: An agent names an agent that cannot be called, names agents but lacks the tool, or has a chart
            without a state for calls.
    """
    able = [name for name, config in agents.items() if config.chart == CALLABLE_CHART]
    for name, config in agents.items():
        for called in config.sub_agents:
            _check_called(name, called, agents, [one for one in able if one != name])
        if config.sub_agents and not config.tools.permits(TASK):
            raise ConfigError(f"agent {name!r}: it has 'sub_agents', but not the tool {TASK!r}, which calls them")
        if calls_agents(config) and not _has_state(machines[config.chart][0]):
            raise ConfigError(
                f"agent {name!r}: it has the tool {TASK!r}, but no state of its chart {config.chart!r} invokes "
                f"{CALL_AGENT!r}; accepted: the chart {CALLABLE_CHART!r}, or one with its state 'running_agent'"
            )


def _check_called(name: str, called: str, agents: Mapping[str, AgentConfig], able: list[str]) -> None:
    if called == name:
        raise ConfigError(f"agent {name!r}: its 'sub_agents' name the agent itself{accepted(able, found='')}")
    if called not in agents:
        raise ConfigError(
            f"agent {name!r}: its 'sub_agents' name {called!r}, which is no agent{accepted(able, found=called)}"
        )
    if called not in able:
        raise ConfigError(
            f"agent {name!r}: its 'sub_agents' name {called!r}, which has the chart {agents[called].chart!r}; "
            f"agents with the chart {CALLABLE_CHART!r} can be called{accepted(able, found=called)}"
        )


def _has_state(chart: Chart) -> bool:
    return any(invocation.src == CALL_AGENT for state in chart.states.values() for invocation in state.invoke)
