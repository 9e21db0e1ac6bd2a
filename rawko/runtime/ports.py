"""The ports: what the machines need of the world, as Protocols. Adapters are in providers/, tools/, workspace/.

Nothing here does anything. `rawko.testing` has one conformance suite per port, run on every adapter.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from rawko.vocabulary.errors import Category, ProviderCode
from rawko.vocabulary.messages import Message, ToolCall
from rawko.vocabulary.snapshot import FileChange, Snapshot
from rawko.vocabulary.usage import Usage

StopReason = Literal[
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
]

# ---------------------------------------------------------------- provider


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it. `input_schema` is a JSON Schema of type object."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model.

    Attributes:
        purpose: Who asks, for scenarios, logs and cost: "select", "evaluate", "compact", or "agent:<name>".
        system: The stable prefix; providers may cache it together with the tools.
        output_schema: JSON Schema that the answer's text must fit; None for free conversation.
        max_tokens: Bound of the answer, in tokens.
        timeout_ms: Bound of the whole call; None for the provider's default.
    """

    purpose: str
    model: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    output_schema: Mapping[str, Any] | None = None
    max_tokens: int = 8192
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's thinking, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnDone:
    """The end of a model call: the whole message, verbatim, with why it stopped and what it cost."""

    message: Message
    stop_reason: StopReason
    usage: Usage
    model: str


StreamEvent: TypeAlias = TextDelta | ThinkingDelta | TurnDone


class ProviderError(Exception):
    """A model call failed; the fields say how, so nobody parses the text.

    Attributes:
        category: "provider_error", "timeout" or "validation_error" (S6-040).
        code: See `ProviderCode`.
        retry_after_ms: What the server asked for, else None.
        status: HTTP status, else None.
        usage: Tokens that the failed call is known to have used.
    """

    def __init__(
        self,
        message: str,
        *,
        code: ProviderCode,
        category: Category = "provider_error",
        retry_after_ms: int | None = None,
        status: int | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.category: Category = category
        self.code: ProviderCode = code
        self.retry_after_ms = retry_after_ms
        self.status = status
        self.usage = usage or Usage()


@runtime_checkable
class Provider(Protocol):
    """A model behind an endpoint. One call is one try: retries belong to the machines (C-24)."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Deltas as they arrive, then exactly one TurnDone. Closing the iterator aborts the call.

        Raises:
            ProviderError: The call failed or its end is missing (a truncated stream is a failure).
        """
        ...

    async def create(self, request: ModelRequest) -> TurnDone:
        """The whole answer at once; for decisions.

        Raises:
            ProviderError: The call failed.
        """
        ...

    async def aclose(self) -> None:
        """Release connections. Safe to call twice."""
        ...


# ---------------------------------------------------------------- tools


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a tool did.

    Attributes:
        content: What the model is told.
        is_error: The tool says that it failed; the model may repair it.
        is_broken: The tool itself is defective (crashed); repeating the call cannot help.
        touched: Workspace-relative paths that it may have written; None: unknown, look at everything;
            empty: nothing.
        exit_code: Of a command, else None.
    """

    content: str
    is_error: bool = False
    is_broken: bool = False
    touched: tuple[str, ...] | None = None
    exit_code: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """What the gate says of a call, and which rule said it."""

    decision: Literal["allow", "ask", "deny"]
    rule: str
    reason: str = ""


ApprovalScope = Literal["once", "tool", "always"]
"""What a person's yes covers: this very call, this tool from now on, or everything from now on."""


class Toolbox(Protocol):
    """All tools of a session behind one gate."""

    def specs(self, agent: str) -> Sequence[ToolSpec]:
        """The tools that the agent may see, in a stable order (the prompt's cache depends on it)."""
        ...

    def check(self, agent: str, call: ToolCall) -> GateVerdict:
        """Whether the call may run. Unknown tools and inputs against the schema are not the gate's: `run`
        answers them with an error for the model."""
        ...

    def approve(self, agent: str, call: ToolCall, scope: ApprovalScope) -> None:
        """Remember a person's yes to a call that `check` answered with "ask". A deny rule still stands."""
        ...

    async def run(self, agent: str, call: ToolCall) -> ToolOutcome:
        """Run the tool. Never raises for what a tool or its input does; cancelling stops the tool's processes.

        A call that the gate denies is answered with an error outcome, whatever the caller did before.
        """
        ...

    async def aclose(self) -> None: ...


# ---------------------------------------------------------------- workspace


class Workspace(Protocol):
    """The folder that agents work in, and its snapshots."""

    @property
    def root(self) -> str: ...

    async def capture(self, label: str, touched: Sequence[str] | None = None) -> Snapshot:
        """Record the workspace. `touched` are hints (see ToolOutcome); None looks at everything.

        Raises:
            WorkspaceError: The store or the workspace cannot be read or written.
        """
        ...

    async def reset(self, to: Snapshot | None = None) -> None:
        """Bring the files back to a snapshot: what an interrupted tool did is as if it had not happened.

        What is lost by that is kept as a snapshot first. Without `to` it is the run's latest snapshot.

        Raises:
            WorkspaceError: As `capture`.
        """
        ...

    async def changes(self, before: str, after: str) -> Sequence[FileChange]:
        """Paths that differ between two trees, sorted by path."""
        ...

    async def diff(self, before: str, after: str) -> str:
        """Unified diff between two trees, as git prints it."""
        ...

    async def aclose(self) -> None: ...


class WorkspaceError(Exception):
    """The workspace or its store failed. `path` is what it failed on, or None."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


# ---------------------------------------------------------------- people


@dataclass(frozen=True, slots=True)
class Question:
    """Something that only a person can answer; a "message" is the next thing that the user says in a conversation."""

    kind: Literal["clarify", "pause", "approval", "message"]
    text: str
    agent: str = ""
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said. For an approval: "once", "tool" (this tool from now on), "always", or "deny"."""

    text: str
    who: str = "user"


class People(Protocol):
    """Whoever sits at the terminal; nobody in a headless run."""

    async def ask(self, question: Question) -> Answer | None:
        """The answer, or None where nobody is there to give one (never a made-up answer).

        Raises:
            Unattended: Nobody is there, and the run is not to wait for anybody.
        """
        ...


class Unattended(Exception):
    """Nobody is there to answer, and by policy the run is not to wait. `question` is what was asked."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"nobody is there to answer: {question.text}")
        self.question = question
