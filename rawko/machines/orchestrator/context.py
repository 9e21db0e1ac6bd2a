"""The orchestrator's context: all fields that its guards and actions read, with defaults (S3-010 ... S3-018).

All of it is JSON (C-26). Times are epoch milliseconds of the interpreter's clock. Lists only grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rawko.machines.agent_result import Outcome
from rawko.machines.orchestrator.arbiter.decision import ArbiterDecision
from rawko.vocabulary.agent import AgentDescription
from rawko.vocabulary.base import Data
from rawko.vocabulary.errors import ErrorContext, Fallback
from rawko.vocabulary.evidence import MAX_REFUSALS, Demand, Evidence
from rawko.vocabulary.messages import Message
from rawko.vocabulary.plan import Plan
from rawko.vocabulary.snapshot import ChangedFiles, FileChange, Snapshot
from rawko.vocabulary.usage import Usage

ExecutionResult = Literal["success", "failure", "timeout", "cancelled", "limit"]

Count = Annotated[int, Field(ge=0)]
Bound = Annotated[int, Field(ge=1)]
Milliseconds = Annotated[int, Field(ge=0)]


class ExecutionEntry(Data):
    """One run of one agent (S3-013).

    Attributes:
        iteration: Number of the run, from 1 (0 for an entry made by hand); stored, because the index in a shortened
            history is not the number (C-42).
        completed_at: None while it runs.
        output: The agent's own summary; None where it gave none, which is not the same as "" (C-43).
        error: The error with the category that it got when it happened (C-15).
        plan_step: The current plan step at the start of the run, from 1; None without a plan.
        steps_completed: Steps that became complete in the run, from 1.
        files_changed: From the trees before and after the run, never from the agent's text (C-48).
        changes: Kind and lines of the first `MAX_CHANGES` changed files; empty in older records, and where the agent's
            machine gave names only (AL-103).
    """

    agent: str
    iteration: Count
    started_at: Milliseconds
    completed_at: Milliseconds | None = None
    result: ExecutionResult
    output: str | None = None
    error: ErrorContext | None = None
    usage: Usage = Usage()
    plan_step: Bound | None = None
    steps_completed: tuple[Bound, ...] = ()
    files_changed: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    tree_before: str | None = None
    tree_after: str | None = None


class ConversationEntry(Data):
    """One message, with the agent and the number of the run that it belongs to (C-35)."""

    agent: str
    iteration: Count
    message: Message


class UserMessage(Data):
    """A person's message to the arbiter; `iteration` is the number of runs that had begun before it."""

    text: str
    who: str = ""
    at_ms: Milliseconds
    iteration: Count


class EarlierTask(Data):
    """The task that this one follows: its run and outcome, and the files changed since."""

    run: str
    task: str
    outcome: str
    summary: str = ""
    changes: ChangedFiles | None = None


class OrchestratorContext(Data):
    """The context of the orchestrator's chart.

    In an input, None means the default and unknown keys are errors (C-27).

    Attributes:
        messages: Messages of all agents, in order; the current agent's begin at `conversation_start` (C-35).
        conversation_start: Index in `messages` where the conversation of the agent that ran last begins.
        unknown_error_streak: Errors of category `unknown` in a row (C-13).
        earlier: The task that this one follows; `carried_agent` is the agent whose conversation was taken over from it.
        stopped_in: The state in which the arbiter's call was refused, while the budget is used up.
        user_messages: Messages of people to the arbiter since the task began (S3-024).
        forced_agent: The agent that a person chose to run next; "": the arbiter chooses.
        seed: For the jitter of delays, so that a replay waits equally long.
        evidence_demands: Demands that must hold before COMPLETE ends the task; empty: COMPLETE ends it at once.
        evidence: Result of the last check, one per demand; `refusals` counts the refused COMPLETE decisions, bounded by
            `max_refusals`; `delivery` is the snapshot of the checked files.
        outcome: The outcome once it is known; the first one counts (C-04).
        usage: Tokens of the whole task, the arbiter's included.
    """

    task: str = ""
    started_at: Milliseconds | None = None
    current_agent: AgentDescription | None = None
    current_mode: str = ""
    agents: dict[str, AgentDescription] = Field(default_factory=dict)
    plan: Plan | None = None
    history: list[ExecutionEntry] = Field(default_factory=list)
    messages: list[ConversationEntry] = Field(default_factory=list)
    conversation_start: Count = 0
    consecutive_failures: Count = 0
    total_failures: Count = 0
    unknown_error_streak: Count = 0
    last_error: ErrorContext | None = None
    session_id: str | None = None
    provider_name: str = "claude"
    last_arbiter_decision: ArbiterDecision | None = None
    user_messages: list[UserMessage] = Field(default_factory=list)
    forced_agent: str = ""
    earlier: EarlierTask | None = None
    carried_agent: str = ""
    stopped_in: Literal["", "selecting", "evaluating"] = ""
    max_iterations: Bound = 50
    iteration_count: Count = 0
    max_consecutive_failures: Bound = 3
    seed: int = 0
    fallback: Fallback = Fallback()
    is_fallen_back: bool = False
    current_started_at: Milliseconds | None = None
    usage: Usage = Usage()
    outcome: Outcome | None = None
    evidence_demands: list[Demand] = Field(default_factory=list)
    max_refusals: Count = MAX_REFUSALS
    evidence: list[Evidence] = Field(default_factory=list)
    refusals: Count = 0
    delivery: Snapshot | None = None

    @model_validator(mode="before")
    @classmethod
    def _none_is_default(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: item for key, item in value.items() if item is not None}
        return value

    @model_validator(mode="after")
    def _agents_by_name(self) -> OrchestratorContext:
        wrong = [f"{key!r} is called {agent.name!r}" for key, agent in self.agents.items() if key != agent.name]
        if wrong:
            raise ValueError(f"agents are listed by their name, but {'; '.join(wrong)}")
        return self


FRESH_RUN_FIELDS = (
    "current_agent",
    "current_mode",
    "plan",
    "history",
    "messages",
    "conversation_start",
    "consecutive_failures",
    "total_failures",
    "unknown_error_streak",
    "last_error",
    "last_arbiter_decision",
    "user_messages",
    "forced_agent",
    "earlier",
    "carried_agent",
    "stopped_in",
    "is_fallen_back",
    "iteration_count",
    "current_started_at",
    "usage",
    "outcome",
    "evidence",
    "refusals",
    "delivery",
)
"""Fields that a new task resets to their defaults (C-37); agents, bounds, session and seed stay."""


def fresh_run() -> dict[str, Any]:
    """The default values of `FRESH_RUN_FIELDS`."""
    defaults = OrchestratorContext().to_json()
    return {name: defaults[name] for name in FRESH_RUN_FIELDS}
