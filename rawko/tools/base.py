"""What every tool is: a name, a schema, what a call of it is about, and `run`. No tool is here.

A tool answers with a `ToolOutcome`, or raises `ToolFailure` for what the model can repair. Whatever else it raises is
a defect of the tool; the toolbox turns it into an outcome that says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rawko.runtime.ports import ToolOutcome, ToolSpec

Arguments = Mapping[str, Any]
"""The input of a call, already valid against the tool's schema."""


class ToolFailure(Exception):
    """The tool could not do what was asked; the model may repair it.

    Attributes:
        message: What, where, and what would be accepted; shown to the model.
        code: Short and stable, for logs and tests: "failed", "outside", "read_only", "timeout", ...
        touched: Workspace-relative paths that were written before it failed.
    """

    def __init__(self, message: str, *, code: str = "failed", touched: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.touched = touched


@dataclass(frozen=True, slots=True)
class PathSubject:
    """A call about one path of the workspace; rules match it by path pattern.

    Attributes:
        names: Workspace-relative spellings of the same place: as written, and with links followed. A deny rule
            needs one of them to match, an allow rule all of them.
    """

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandSubject:
    """A call about a shell command; rules match each simple command in it."""

    command: str


Subject: TypeAlias = PathSubject | CommandSubject | None
"""What a call is about, for the gate's patterns; None where a tool has nothing that a pattern could match."""


@dataclass(frozen=True, slots=True)
class Run:
    """One call on its way into a tool.

    Attributes:
        agent: Who calls; tools that remember something (bash: the folder) remember it per agent.
        arguments: The validated input.
        hidden: Regular expressions of whole workspace-relative paths that deny rules keep from this tool; searches
            leave them out.
        mounts: Options of the sandbox that keep programs which deny rules name from being executed.
    """

    agent: str
    arguments: Arguments
    hidden: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()


PatternKind = Literal["path", "command", "none"]
"""What a rule's pattern for a tool is matched with."""


class Tool(ABC):
    """One tool. A file of this package per tool: name, input schema, what it touches, `run`."""

    spec: ToolSpec
    pattern_kind: PatternKind = "path"

    @abstractmethod
    def subject(self, arguments: Arguments) -> Subject:
        """What the call is about.

        Raises:
            ToolFailure: It is about something that it may never touch, whatever the rules say.
        """

    @abstractmethod
    async def run(self, run: Run) -> ToolOutcome:
        """Do it.

        Raises:
            ToolFailure: It cannot be done; the message is for the model.
        """

    def notes(self) -> Any:
        """What the tool wants to know again when the run goes on in another process: JSON, short; None: nothing."""
        return None

    def take_up(self, notes: Any) -> None:  # noqa: B027 (most tools remember nothing)
        """Go on from what `notes` gave."""

    async def aclose(self) -> None:  # noqa: B027 (most tools hold nothing)
        """Stop what the tool still runs. Safe to call twice."""


def object_schema(properties: Mapping[str, Any], *, required: tuple[str, ...]) -> dict[str, Any]:
    """A JSON Schema of type object that accepts no other fields."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
