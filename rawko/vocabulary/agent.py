"""Agents: the full configuration (a file of `.rawko/agents/`), the monitors that it names, and the description in the
arbiter's prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from rawko.vocabulary.base import Data
from rawko.vocabulary.errors import Fallback
from rawko.vocabulary.evidence import MAX_REFUSALS, Demand

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=64)]
CarryMessages = Literal["none", "summary", "all"]


Demands = Annotated[tuple[Demand, ...], Field(exclude_if=lambda demands: not demands)]
"""Evidence that `complete` needs; left out of the JSON if there is none, because older records lack the field."""
Refusals = Annotated[int, Field(ge=0, le=100, exclude_if=lambda refusals: refusals == MAX_REFUSALS)]
"""How many claims of completion are refused for missing evidence before the run stops at its limit."""


class MonitorOptions(Data):
    """A monitor that watches a run, and the consequence of its objection.

    Attributes:
        monitor: Name of a monitor that comes with rawko, or the path of a monitor's chart in the workspace.
        violation: "refuse": a tool call that the monitor objects to is refused with the reason, and an objection to any
            other step stops the run; "stop": every objection stops the run; "report": the objection is logged only.
        machine: Name of the one chart whose machines are watched; "" for all.
    """

    monitor: Annotated[str, Field(min_length=1)]
    violation: Literal["refuse", "stop", "report"] = "refuse"
    machine: str = ""


def _named(value: Any) -> Any:
    """Expand a bare name to monitor options with the defaults; other values pass unchanged."""
    return {"monitor": value} if isinstance(value, str) else value


MonitorUse = Annotated[
    MonitorOptions, BeforeValidator(_named, json_schema_input_type=Annotated[str, Field(min_length=1)] | MonitorOptions)
]


def is_monitor_file(name: str) -> bool:
    """Whether the name is the path of a monitor's file; otherwise it names a monitor that comes with rawko."""
    return "/" in name or name.endswith((".yaml", ".yml"))


def files_of(monitors: Iterable[MonitorOptions]) -> list[str]:
    """The paths of those monitors that are charts in the workspace."""
    return [one.monitor for one in monitors if is_monitor_file(one.monitor)]


Monitors = Annotated[tuple[MonitorUse, ...], Field(exclude_if=lambda monitors: not monitors)]
"""Monitors of an agent; left out of the JSON if there are none, because older records lack the field."""


class ToolAccess(Data):
    """The tools that an agent may use. None in `allowed` means all; `blocked` overrides `allowed`."""

    allowed: tuple[str, ...] | None = None
    blocked: tuple[str, ...] = ()

    def permits(self, tool: str) -> bool:
        return tool not in self.blocked and (self.allowed is None or tool in self.allowed)


def _can_repeat(times: int) -> int:
    if times == 1:
        raise ValueError("1 would forbid the first call; accepted: 0 (any number) or at least 2")
    return times


OwnTokens = Annotated[int | None, Field(ge=1, exclude_if=lambda tokens: tokens is None)]
OwnCost = Annotated[float | None, Field(gt=0, allow_inf_nan=False, exclude_if=lambda cost: cost is None)]
"""Limits of one agent; left out of the JSON if None, because older records lack the fields."""
SubAgents = Annotated[tuple[Name, ...], Field(exclude_if=lambda names: not names)]
"""Names of agents that an agent may call; left out of the JSON if there are none."""


OwnFallback = Annotated[Fallback, Field(exclude_if=lambda fallback: fallback.model is None)]
"""Fallback of an agent; left out of the JSON if it names no model, because older records lack the field."""


class Limits(Data):
    """Limits of one agent run (C-21): model turns, tool calls, and equal calls in a row (0: any number).

    Attributes:
        tokens: The most tokens of its model calls, including those of the agents that it calls; None: no own limit.
        cost_usd: The most that these calls may cost, in US dollars; None: no own limit.
    """

    turns: Annotated[int, Field(ge=1)] = 10
    tool_steps: Annotated[int, Field(ge=1)] = 100
    repeats: Annotated[int, Field(ge=0, le=100), AfterValidator(_can_repeat)] = 3
    tokens: OwnTokens = None
    cost_usd: OwnCost = None


class SummaryChars(Data):
    """The most characters of an execution's output in a prompt (C-14)."""

    select: Annotated[int, Field(ge=0)] = 300
    evaluate: Annotated[int, Field(ge=0)] = 500


class ContextOptions(Data):
    """How much of the history the prompts of an agent and of the arbiter contain (S6-031, S6-033, S6-110)."""

    summary_chars: SummaryChars = SummaryChars()
    full_chars: Annotated[int, Field(ge=0)] = 2000
    history_select: Annotated[int, Field(ge=1)] = 10
    history_evaluate: Annotated[int, Field(ge=1)] = 5
    carry_messages: CarryMessages = "summary"


class AgentConfig(Data):
    """The whole configuration of one agent: the content of its file.

    Attributes:
        fallback: Another model, used if the agent's own model fails.
        sub_agents: Agents that this agent may call with the tool `task`; see `rawko.vocabulary.agent_path`.
        monitors: Monitors of this agent's machine, beside those of the settings.
        parameters: Values for the machine's input beside the task; the context of its chart declares them.
    """

    name: Name
    display_name: str = ""
    when_to_use: str
    system_prompt: str
    tools: ToolAccess = ToolAccess()
    limits: Limits = Limits()
    model: str | None = None
    context: ContextOptions = ContextOptions()
    chart: str = "agent_loop"
    evidence: Demands = ()
    evidence_refusals: Refusals = MAX_REFUSALS
    sub_agents: SubAgents = ()
    fallback: OwnFallback = Fallback()
    monitors: Monitors = ()
    parameters: dict[str, Any] = Field(default_factory=dict)


class RecentPerformance(Data):
    """Results of an agent in this task (C-49). Rate is 0-100; the average counts runs from first attempt to success."""

    last_success: str | None = None
    last_failure: str | None = None
    success_rate: float
    iteration_average: float | None = None


class AgentDescription(Data):
    """The part of an agent's configuration that the arbiter's prompt contains (S6-051)."""

    name: str
    display_name: str
    when_to_use: str
    tools: ToolAccess = ToolAccess()
    limits: Limits = Limits()
    context: ContextOptions = ContextOptions()
    chart: str = "agent_loop"
    evidence: Demands = ()
    evidence_refusals: Refusals = MAX_REFUSALS
    fallback: OwnFallback = Fallback()
    parameters: dict[str, Any] = Field(default_factory=dict)
    recent_performance: RecentPerformance | None = None


def describe(config: AgentConfig) -> AgentDescription:
    """The description of a configured agent; an empty display name falls back to the name (S6-021, C-43)."""
    return AgentDescription(
        name=config.name,
        display_name=config.display_name or config.name,
        when_to_use=config.when_to_use,
        tools=config.tools,
        limits=config.limits,
        context=config.context,
        chart=config.chart,
        evidence=config.evidence,
        evidence_refusals=config.evidence_refusals,
        fallback=config.fallback,
        parameters=config.parameters,
    )
