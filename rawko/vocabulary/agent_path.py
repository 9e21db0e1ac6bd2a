"""Agent paths: the acting agent and its callers as one text, for gates, questions and views.

("developer",)                "developer"                   no agent has called it
("developer", "reviewer")     "developer > reviewer"        the developer has called the reviewer
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rawko.vocabulary.agent import AgentConfig

SEPARATOR: Final = " > "
"""Stands between two names of a path; agent names cannot contain it."""
TASK: Final = "task"
"""The tool by which an agent calls another agent."""
CALL_AGENT: Final = "call_agent"
"""The actor that runs the called agent."""
CALLABLE_CHART: Final = "agent_loop"
"""The chart that an agent needs to be callable: it passes tool calls to the gate with the names of all callers."""


def agent_path(names: Iterable[str]) -> str:
    """The text for an agent and its callers, outermost first."""
    return SEPARATOR.join(names)


def agents_in(path: str) -> tuple[str, ...]:
    """The names in a path, outermost first; the last one acts."""
    return tuple(path.split(SEPARATOR))


def calls_agents(config: AgentConfig) -> bool:
    """Whether an agent may call others: its file names sub-agents or the tool `task`, and does not block the tool."""
    is_named = bool(config.sub_agents) or TASK in (config.tools.allowed or ())
    return is_named and config.tools.permits(TASK)


def callable_agents(agents: Mapping[str, AgentConfig], path: str) -> tuple[AgentConfig, ...]:
    """The agents that the last agent of a path may call: its `sub_agents`, or all callable agents if it names none.

    Agents of the path itself are left out, because an agent that calls itself or a caller might never come to an end.
    """
    names = agents_in(path)
    named = agents[names[-1]].sub_agents or tuple(agents)
    return tuple(agents[name] for name in named if name not in names and agents[name].chart == CALLABLE_CHART)


def path_in(context: Mapping[str, Any]) -> str:
    """The path of the agent that a machine runs, read from its context as data; "" if the context names no agent."""
    agent = str(context.get("agent") or "")
    return agent_path((*(context.get("called_by") or ()), agent)) if agent else ""


def shown_paths(agents: Mapping[str, AgentConfig]) -> tuple[str, ...]:
    """The names of all agents, followed by the paths "CALLER > CALLED" of all pairs where one may call the other."""
    callers = [name for name, config in agents.items() if calls_agents(config)]
    called = (agent_path((name, one.name)) for name in callers for one in callable_agents(agents, name))
    return (*agents, *called)
