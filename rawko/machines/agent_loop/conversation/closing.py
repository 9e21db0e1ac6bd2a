"""Updates that several actions share: closing a turn, events for parent and observers. Pure; has no actions itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.data.updates import Updates, append, assign, emit, send
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop.context import AgentLoopContext, ToolEntry
from rawko.machines.agent_loop.convergence import watched
from rawko.machines.agent_loop.conversation import texts
from rawko.machines.agent_loop.conversation.rules import user_message
from rawko.machines.agent_loop.sub_agents.paths import path_of
from rawko.vocabulary.evidence import missing_evidence
from rawko.vocabulary.messages import ToolCall, ToolResult
from rawko.vocabulary.usage import Usage

PREVIEW_CHARS = 200
"""Characters of a tool result in the event for observers; the tool history has the whole result."""

NOTHING_IN_HAND = assign(pending_calls=[], open_call=None, approval=None, turn_results=[])


def close_turn(
    context: AgentLoopContext, *, why_not: str = "", text: str = "", open_result: ToolResult | None = None
) -> Updates:
    """Answer every call of the turn in one user message, and clear the turn's queues (pairing, AL-080).

    Args:
        why_not: The answer to calls that were not carried out.
        text: A text for the model after the results.
        open_result: The answer to the open call; None: it was not carried out.
    """
    results: list[Any] = list(context.turn_results)
    if context.open_call is not None:
        results.append(open_result or not_run(context.open_call.call, why_not))
    results += [not_run(pending.call, why_not) for pending in context.pending_calls]
    message = user_message(results, text)
    return (append("messages", message) if message else None, NOTHING_IN_HAND)


def not_run(call: Mapping[str, Any] | ToolCall, why: str) -> ToolResult:
    """The answer to a call that was not carried out."""
    call_id = call.id if isinstance(call, ToolCall) else call["id"]
    return ToolResult(call_id=call_id, content=why, is_error=True)


def answered(context: AgentLoopContext, entry: ToolEntry) -> Updates:
    """Record the open call's answer: one more step, an entry in history and turn, an event for observers."""
    call, result = entry.call, entry.result
    told = {
        "call_id": call.id,
        "tool": call.name,
        "is_error": result.is_error,
        "preview": result.content[:PREVIEW_CHARS],
    }
    return (
        append("tool_history", entry),
        append("turn_results", result),
        assign(tool_steps=context.tool_steps + 1, open_call=None, approval=None),
        watched(context, entry),
        tell_observers("AGENT_TOOL_RESULT", context, **told),
    )


def open_tool_call(context: AgentLoopContext) -> ToolCall:
    """The open call as a ToolCall."""
    assert context.open_call is not None
    return ToolCall.model_validate(thaw(context.open_call.call))


def spent(usage: Any) -> Usage:
    """A Usage from its JSON."""
    return Usage.model_validate(thaw(usage))


def tell(event: str, context: AgentLoopContext, **data: Any) -> Updates:
    """Send the event to the parent and to the observers (C-25)."""
    return (send(event, {"agent": path_of(context), **data}, to="parent"), tell_observers(event, context, **data))


def tell_observers(event: str, context: AgentLoopContext, **data: Any) -> Updates:
    """Emit the event for the observers only."""
    return emit(event, agent=path_of(context), **data)


def granted(context: AgentLoopContext) -> Updates:
    """Grant an interactive agent its limits anew from here on; the counts themselves only grow."""
    if not context.is_interactive:
        return None
    return assign(
        turns_from=context.turns,
        tool_steps_from=context.tool_steps,
        tokens_from=spent(context.usage).total_tokens,
        cost_from=context.cost_usd,
    )


def limit_text(context: AgentLoopContext, reason: str) -> str:
    """The text about a limit that was reached."""
    limits = {
        "turns": context.limits.turns,
        "tool_steps": context.limits.tool_steps,
        "tokens": getattr(context.limits, "tokens", None),
        "cost": getattr(context.limits, "cost_usd", None),
        "max_tokens": context.continuations + 1,
        "evidence": context.refusals + 1,
    }
    text = texts.LIMITS[reason].format(limit=limits.get(reason))
    return f"{text}\n{missing_evidence(context.evidence)}" if reason == "evidence" else text
