"""What a monitor may ask about the tool calls of an agent: guards, actions and a memory that any monitor may name.

    {event: state entered, guard: "calls(tool=['write', 'edit']) and not has_plan", target: wrote_without_a_plan}
    {event: event consumed, guard: ended(tool='bash') and is_test and failed, target: red}

A call begins where `running_tool` is entered, which is before the tool does anything; it ends with the event that the
machine takes then. Of other machines all of these say no. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import Field

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, append, assign
from rawko.interpreter.data.values import Record
from rawko.interpreter.monitoring.monitor import MONITOR_GUARDS
from rawko.vocabulary.base import Data

BEGINS: Final = "running_tool"
"""The state whose entry begins a tool call."""
_ENDS: Final = frozenset({"done.invoke.execute_tool", "error.invoke.execute_tool"})
_CHECKED: Final = "done.invoke.check_gate"
_RUNNERS: Final = re.compile(
    r"(?:^|[;&|(\s])(?:\S*/)?(?:"
    r"pytest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|behave"
    r"|python[\d.]*\s+-m\s+(?:pytest|unittest|nose2?|behave)"
    r"|(?:npm|pnpm|yarn|bun|deno)\s+(?:run\s+)?test\S*"
    r"|(?:go|cargo|dotnet|swift|mix|sbt|bazel|mvn|rake|gradle|gradlew|make)\s+(?:\S+\s+)*?\S*test\S*"
    r")(?=$|[\s;&|):])"
)
"""Commands that run tests, as they are usually written."""

_own = Bindings()


class FileOfCall(Data):
    """The file that the open call names, as the gate has seen it."""

    path: str
    is_there: bool


class KnownFiles(Data):
    """What an agent has seen of the workspace: files that it has read, written or edited."""

    known: list[str] = Field(default_factory=list)
    subject: FileOfCall | None = None


_own.add("context", "KnownFiles", KnownFiles)


@_own.guard
def calls(context: Record, event: Event, *, tool: Any) -> bool:
    """A call of this tool, or of one of these, begins. Of an event `state entered`."""
    return event.name == "state entered" and event.state == BEGINS and _is_of(event, tool)


@_own.guard
def ended(context: Record, event: Event, *, tool: Any) -> bool:
    """A call of this tool, or of one of these, has ended. Of an event `event consumed`."""
    return _has_ended(event) and _is_of(event, tool)


@_own.guard
def failed(context: Record, event: Event) -> bool:
    """The call has ended with an error, or its command with an exit code other than 0. Beside `ended`."""
    if not _has_ended(event):
        return False
    taken = event.event
    output = getattr(taken, "output", None)
    if taken.name.startswith("error.") or not isinstance(output, Mapping):
        return True
    return bool(output.get("is_error")) or output.get("exit_code") not in (None, 0)


@_own.guard
def is_test(context: Record, event: Event) -> bool:
    """The open call is a command that runs tests: `pytest -q`, `npm test`, `go test ./...`, `make check-tests`."""
    command = _input(event).get("command")
    return isinstance(command, str) and _RUNNERS.search(command) is not None


@_own.guard
def has_plan(context: Record, event: Event) -> bool:
    """The agent has a plan with at least one step."""
    plan = getattr(event.context, "plan", None)
    return plan is not None and len(plan.steps) > 0


@_own.guard
def is_known_file(context: Record, event: Event) -> bool:
    """The file of the open call is one that the agent has read or written, or there is none of its name yet.

    For a monitor with `context: KnownFiles` and the actions `note_subject` and `note_file`.
    """
    subject = context.subject
    return subject is None or not subject.is_there or subject.path in context.known


@_own.guard
def is_checked(context: Record, event: Event) -> bool:
    """The gate has judged a call that names a file. Of an event `event consumed`."""
    return event.name == "event consumed" and event.event.name == _CHECKED


@_own.action
def note_subject(context: Record, event: Event) -> Updates:
    """Remember the file that the judged call names."""
    output = event.event.output
    told = output.get("file") if isinstance(output, Mapping) else None
    return assign(subject=None if told is None else {"path": told["path"], "is_there": told["is_there"]})


@_own.action
def note_file(context: Record, event: Event) -> Updates:
    """The file of the call is known from now on."""
    subject = context.subject
    if subject is None or subject.path in context.known:
        return None
    return append("known", subject.path)


def _has_ended(event: Event) -> bool:
    return event.name == "event consumed" and event.event.name in _ENDS


def _is_of(event: Event, tool: str | Sequence[str]) -> bool:
    call = _call(event)
    return call is not None and (call.name == tool if isinstance(tool, str) else call.name in tool)


def _input(event: Event) -> Mapping[str, Any]:
    call = _call(event)
    return {} if call is None else call.input


def _call(event: Event) -> Any:
    """The tool call that is open; None of a machine that has none."""
    pending = getattr(event.context, "open_call", None)
    return None if pending is None else pending.call


bindings: Final = _own | MONITOR_GUARDS
"""All that a monitor of an agent may name without a module of its own."""
