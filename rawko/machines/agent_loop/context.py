"""What the agent machine remembers: its input, its conversation, and the histories of tools and snapshots.

All of it is JSON (C-26). In guards and actions the context is a frozen record with these fields, not an object of
this class: its fields read as attributes, but nothing here may have methods that they would call.

Lists that grow with the run (`messages`, `tool_history`, `snapshot_history`, `current_response`) are only appended
to; the others are bounded by one turn.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rawko.machines.agent_input import AgentInput
from rawko.vocabulary.agent import Name
from rawko.vocabulary.base import Data
from rawko.vocabulary.errors import ErrorContext, Fallback
from rawko.vocabulary.evidence import MAX_REFUSALS, Demand, Evidence
from rawko.vocabulary.messages import ToolCall, ToolResult
from rawko.vocabulary.plan import Plan, PlanPatch
from rawko.vocabulary.snapshot import FileChange, Snapshot, StepChange
from rawko.vocabulary.usage import Usage

Outcome = Literal["success", "failure", "limit", "cancelled"]
Reason = Literal[
    "turns",
    "tool_steps",
    "tokens",
    "cost",
    "max_tokens",
    "context_window",
    "silent_stop",
    "repetition",
    "agent",
    "evidence",
]
Scope = Literal["once", "tool", "always"]
Count = Annotated[int, Field(ge=0)]

START_LABEL = "start"
CANCELLED_LABEL = "cancelled"
"""Labels of the captures that belong to no tool call."""


class PendingCall(Data):
    """A tool call of the turn that is not answered yet. `is_truncated`: its input was cut off by max_tokens."""

    call: ToolCall
    is_truncated: bool = False


class ToolEntry(Data):
    """A tool call and its answer, in the order in which they were answered (AL-020).

    Attributes:
        is_broken: The tool itself is defective.
        is_denied: It was not run, because the gate or a person said no.
    """

    call: ToolCall
    result: ToolResult
    is_broken: bool = False
    is_denied: bool = False
    exit_code: int | None = None


class SnapshotEntry(Data):
    """The workspace after a tool call that changed it; entry 0, before the first turn, has no call (C-53)."""

    tree: str
    commit: str
    label: str = ""
    skipped: tuple[str, ...] = ()
    call_id: str | None = None


class Question(Data):
    """What a person is asked while the machine waits; a used up budget needs a larger one."""

    kind: Literal["clarify", "pause", "approval", "budget"]
    text: str


class View(Data):
    """What the model is sent of the conversation, once it no longer fitted into its window (C-35).

    Attributes:
        head: The message that stands for all before `kept_from`: task, plan and a summary; "" where nothing is cut.
        kept_from: Index of the first message that is sent as it is.
        pointers_before: Tool results of messages before that index are sent as pointers.
    """

    head: str = ""
    kept_from: Count = 0
    pointers_before: Count = 0


class ErrorStreak(Data):
    """How often a tool has failed in one way since it last succeeded."""

    tool: str
    digest: str
    times: Count


class Repetition(Data):
    """What has been done again and again.

    Attributes:
        kind: "call": the same tool with the same input on the same tree; "error": a tool failing in the same way.
        call: Tool and input, abridged.
        tree: Of the workspace that the last call found.
        message: The error, abridged; "" of a call that is merely repeated.
    """

    kind: Literal["call", "error"]
    call: str
    times: Count
    tree: str | None = None
    message: str = ""


class Backoff(Data):
    """Waiting between retries of a turn: doubles from `base_ms`, never above `cap_ms` by itself."""

    base_ms: Annotated[int, Field(ge=0)] = 1_000
    cap_ms: Annotated[int, Field(ge=0)] = 60_000


class AgentLoopContext(AgentInput):
    """Input and memory of one agent run.

    Attributes:
        called_by: The agents that have called this one as a tool, outermost first.
        new_messages_from: How many of `messages` were there at the start.
        current_response: Pieces of the text that is arriving.
        pending_calls: Tool calls of the turn that are still to be answered, in order (C-55).
        open_call: The one call at work: checked, run, or waiting for a person.
        approval: What a person's yes to the open call covers.
        turn_results: Answers to calls of the turn; sent together when all are there.
        touched: Paths that the last tool may have written; None: unknown.
        file_changes: For each snapshot after the first, what the paths that differ from the one before have come to
            since the first one.
        files_changed: The same of all snapshots at once: of steps that were recorded before there was `file_changes`.
        fallback: The model that is asked where the agent's own cannot be had; from then on (`is_fallen_back`) to the
            end of the run.
        turns, tool_steps: Model answers and tool calls of this run, ever growing; a person's message to an
            interactive agent grants new limits from `turns_from` and `tool_steps_from` on.
        usage, cost_usd: Of this run and of the agents that it has called; the cost as far as prices are known. A
            person's message grants new limits from `tokens_from` and `cost_from` on, as for turns.
        context_tokens: Size of the conversation at its last turn, as the server counted it.
        context_window: Of the model, where it is known.
        compactions: How often the conversation was cut down; `compactions_in_a_row` since the last whole turn, bounded
            by `max_compactions`; `compacted_at` is the number of turns at the last one.
        recent_calls: Digests of the last tool calls with the trees they found, bounded; `error_streak` and `repeated`
            tell what happens again and again.
        evidence_demands: What must be found before `complete` ends the run; empty: the agent's word counts.
        evidence: What the last look has found for each demand; `refusals` counts the claims that were refused since the
            last one that held, bounded by `max_refusals`.
        reason: Why it paused or stopped at a limit.
        last_error: What went wrong last; None after a good turn.
    """

    called_by: list[Name] = Field(default_factory=list)
    max_retries: Count = 4
    max_nudges: Count = 2
    max_continuations: Count = 2
    max_compactions: Count = 2
    evidence_demands: list[Demand] = Field(default_factory=list)
    max_refusals: Count = MAX_REFUSALS
    backoff: Backoff = Backoff()
    fallback: Fallback = Fallback()

    new_messages_from: Count = 0
    current_response: list[str] = Field(default_factory=list)
    pending_calls: list[PendingCall] = Field(default_factory=list)
    open_call: PendingCall | None = None
    approval: Scope | None = None
    turn_results: list[ToolResult] = Field(default_factory=list)
    stop_reason: str | None = None
    tool_history: list[ToolEntry] = Field(default_factory=list)
    snapshot_history: list[SnapshotEntry] = Field(default_factory=list)
    current_snapshot: Snapshot | None = None
    touched: list[str] | None = None
    files_changed: list[FileChange] = Field(default_factory=list)
    file_changes: list[tuple[StepChange, ...]] = Field(default_factory=list)

    turns: Count = 0
    turns_from: Count = 0
    tool_steps: Count = 0
    tool_steps_from: Count = 0
    nudges: Count = 0
    continuations: Count = 0
    retries: Count = 0
    usage: Usage = Usage()
    cost_usd: Annotated[float, Field(ge=0)] = 0.0
    tokens_from: Count = 0
    cost_from: Annotated[float, Field(ge=0)] = 0.0
    model: str | None = None
    is_fallen_back: bool = False

    context_tokens: Count = 0
    context_window: int | None = None
    view: View = View()
    is_compacting: bool = False
    compactions: Count = 0
    compactions_in_a_row: Count = 0
    compacted_at: Count = 0
    recent_calls: list[str] = Field(default_factory=list)
    error_streak: ErrorStreak | None = None
    repeated: Repetition | None = None

    evidence: list[Evidence] = Field(default_factory=list)
    refusals: Count = 0
    plan_given: Plan | None = None
    plan_updates: PlanPatch | None = None
    question: Question | None = None
    is_unattended: bool = False
    last_error: ErrorContext | None = None
    reason: Reason | None = None
    summary: str = ""
    outcome: Outcome | None = None
