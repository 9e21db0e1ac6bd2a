"""The context of the agent machine: its input, the conversation, and the histories of tool calls and snapshots.

All of it is JSON (C-26). Guards and actions get the context as a frozen record with these fields as attributes, not
as an object of this class: the classes here must not have methods that guards or actions would call.

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
"""Labels of the captures that do not follow a tool call."""


class PendingCall(Data):
    """An unanswered tool call of the turn. `is_truncated`: max_tokens cut off its input."""

    call: ToolCall
    is_truncated: bool = False


class ToolEntry(Data):
    """A tool call with its answer; entries are in the order of the answers (AL-020).

    Attributes:
        is_broken: The tool itself is defective.
        is_denied: The call was not run, because the gate or a person denied it.
    """

    call: ToolCall
    result: ToolResult
    is_broken: bool = False
    is_denied: bool = False
    exit_code: int | None = None


class SnapshotEntry(Data):
    """The workspace after a tool call that changed it; entry 0, before the first turn, has no `call_id` (C-53)."""

    tree: str
    commit: str
    label: str = ""
    skipped: tuple[str, ...] = ()
    call_id: str | None = None


class Question(Data):
    """The question to a person for which the machine waits; kind "budget" waits for a larger budget instead."""

    kind: Literal["clarify", "pause", "approval", "budget"]
    text: str


class View(Data):
    """The part of the conversation that is sent to the model after it no longer fitted into the context window (C-35).

    Attributes:
        head: A message in place of all messages before `kept_from`: task, plan and summary; "" where none is left out.
        kept_from: Index of the first message that is sent unchanged.
        pointers_before: In messages before this index, long tool results are sent as pointers.
    """

    head: str = ""
    kept_from: Count = 0
    pointers_before: Count = 0


class ErrorStreak(Data):
    """The number of equal failures of one tool since its last success."""

    tool: str
    digest: str
    times: Count


class Repetition(Data):
    """A tool call or an error that has come `limits.repeats` times.

    Attributes:
        kind: "call": the same tool with the same input on the same tree; "error": the same tool with the same error.
        call: Tool name and input, abridged.
        tree: The tree of the workspace before the last call.
        message: The error, abridged; "" for kind "call".
    """

    kind: Literal["call", "error"]
    call: str
    times: Count
    tree: str | None = None
    message: str = ""


class Backoff(Data):
    """The delays between retries of a turn: doubled from `base_ms` up to `cap_ms`, longer if the provider asks."""

    base_ms: Annotated[int, Field(ge=0)] = 1_000
    cap_ms: Annotated[int, Field(ge=0)] = 60_000


class AgentLoopContext(AgentInput):
    """The context of one agent run: its input, then its state.

    Attributes:
        called_by: The agents that called this one with the tool `task`, outermost first.
        new_messages_from: Number of `messages` at the start of the run.
        current_response: Pieces of the text that is arriving.
        pending_calls: Tool calls of the turn that are not yet begun, in order (C-55).
        open_call: The one call that is being checked, runs, or waits for a person.
        approval: Scope of a person's approval of the open call.
        turn_results: Answers to calls of the turn; sent together when all calls are answered.
        touched: Paths that the last tool may have written; None: unknown.
        file_changes: One item per snapshot after the first: for each path that differs from the snapshot before, its
            change since the first snapshot.
        files_changed: All changes since the first snapshot; only in runs recorded before `file_changes` existed.
        fallback: The model that is used when the agent's own model is unavailable; from then on (`is_fallen_back`)
            until the end of the run.
        turns, tool_steps: Model answers and tool calls of this run, ever growing; a person's message to an
            interactive agent grants new limits from `turns_from` and `tool_steps_from` on.
        usage, cost_usd: Totals of this run and of the agents that it has called; the cost as far as prices are known. A
            person's message grants new limits from `tokens_from` and `cost_from` on, as for turns.
        context_tokens: Size of the conversation at its last turn, as the server counted it.
        context_window: Size of the model's context window in tokens; None where it is unknown.
        compactions: How often the conversation was compacted in this run; `compactions_in_a_row`: since the last turn
            that the window did not cut off, bounded by `max_compactions`; `compacted_at`: `turns` at the last one.
        recent_calls: Digests of the last tool calls and the trees before them, bounded. `error_streak` and `repeated`
            hold the repetitions found.
        evidence_demands: Demands that must hold before `complete` ends the run; empty: `complete` ends it at once.
        evidence: Result of the last check, one per demand; `refusals` counts the refused `complete` calls since the
            last accepted one, bounded by `max_refusals`.
        reason: Why the run paused or stopped at a limit.
        last_error: The last error; None after a successful turn.
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
