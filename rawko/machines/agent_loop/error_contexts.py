"""Builds the ErrorContext of a run's errors, with what was attempted (S6-040, C-13). Pure; times come from events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from rawko.cutting import cut
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop.context import AgentLoopContext
from rawko.vocabulary.errors import Category, ErrorContext, ErrorDetails, ProviderCode

ATTEMPT_CHARS = 200
SHOWN_LINES = 30
"""Lines of a file's text that the question about a call shows. All other arguments are shown whole, because a person
must not approve what they have not seen."""
FILE_TEXTS = frozenset({("write", "content"), ("edit", "old_string"), ("edit", "new_string")})
"""Pairs of tool and argument whose value is the text of a file."""
MESSAGE_CHARS = 2_000
"""Characters of a tool's output in an error message; three quarters are from its end, which is the most informative."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS = frozenset(ErrorContext.model_fields)


def iso(at_ms: float) -> str:
    """A time as ISO 8601 in UTC, from epoch milliseconds."""
    return (_EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def describe_call(call: Mapping[str, Any] | Any) -> str:
    """A tool call in one line of at most `ATTEMPT_CHARS` characters: name and input."""
    shown = json.dumps(thaw(call["input"]), ensure_ascii=False)
    return cut(f"{call['name']} {shown}", ATTEMPT_CHARS)


def whole_call(call: Mapping[str, Any] | Any) -> str:
    """A whole tool call for a person to approve; of long file texts only the first `SHOWN_LINES` lines."""
    given = thaw(call["input"])
    shown = {key: _first_lines(value) if (call["name"], key) in FILE_TEXTS else value for key, value in given.items()}
    return f"{call['name']} {json.dumps(shown, ensure_ascii=False)}"


def _first_lines(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    lines = text.split("\n", SHOWN_LINES)
    if len(lines) <= SHOWN_LINES:
        return text
    rest = lines.pop()
    return "\n".join([*lines, f"… {rest.count(chr(10)) + 1} more lines"])


def abridged(text: str) -> str:
    """A tool's output for an error message: a quarter of the characters from its beginning, the rest from its end."""
    if len(text) <= MESSAGE_CHARS:
        return text
    head = MESSAGE_CHARS // 4
    return f"{text[:head]} ... {text[head - MESSAGE_CHARS :]}"


def run_error(
    context: AgentLoopContext,
    at_ms: float,
    *,
    category: Category,
    message: str,
    attempted: str,
    code: ProviderCode | None = None,
) -> ErrorContext:
    """An ErrorContext for an error that does not belong to one tool call."""
    return ErrorContext(
        agent=context.agent,
        plan_step=plan_step(context),
        attempted=attempted,
        message=message,
        category=category,
        code=code,
        timestamp=iso(at_ms),
    )


def tool_error(context: AgentLoopContext, at_ms: float, entry: Any, message: str) -> ErrorContext:
    """An ErrorContext for a tool call, from its entry in the tool history; a denied call is a permission_error."""
    call, result = entry["call"], entry["result"]
    return ErrorContext(
        agent=context.agent,
        tool=call["name"],
        plan_step=plan_step(context),
        attempted=describe_call(call),
        message=message,
        category="permission_error" if entry["is_denied"] else "tool_failure",
        timestamp=iso(at_ms),
        context=_details(call["input"], result["content"]),
    )


def reported_error(context: AgentLoopContext, at_ms: float, error: Any, *, attempted: str) -> ErrorContext:
    """An actor's error, completed with agent, time and `attempted`; an invalid one gets the category unknown."""
    known = {name: thaw(value) for name, value in dict(error).items() if name in _FIELDS and value is not None}
    filled = {"message": str(error.get("message", "unknown error")), "category": "unknown", **known}
    filled["agent"] = filled.get("agent") or context.agent
    filled["attempted"] = filled.get("attempted") or attempted
    filled["timestamp"] = filled.get("timestamp") or iso(at_ms)
    filled["plan_step"] = filled.get("plan_step") or plan_step(context)
    try:
        return ErrorContext.model_validate(filled)
    except ValidationError:
        return run_error(context, at_ms, category="unknown", message=str(filled["message"]), attempted=attempted)


def plan_step(context: AgentLoopContext) -> int | None:
    """The number of the current plan step, from 1; None without a plan or when all steps are done (C-45)."""
    plan = context.plan
    if plan is None or not 0 <= plan.current_step_index < len(plan.steps):
        return None
    return plan.current_step_index + 1


def _details(input: Mapping[str, Any], content: str) -> ErrorDetails:
    path = next((value for key in ("file_path", "path") if isinstance(value := input.get(key), str)), None)
    command = input.get("command")
    return ErrorDetails(
        files_accessed=(path,) if path else None,
        command_executed=command if isinstance(command, str) else None,
        input_size=len(json.dumps(thaw(input), ensure_ascii=False)),
        output_size=len(content),
    )
