"""The inputs of the machine's actors, its own input and output, and the delay before a retry. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.agent_loop.backoff import backoff_ms
from rawko.machines.agent_loop.context import CANCELLED_LABEL, START_LABEL, AgentLoopContext
from rawko.machines.agent_loop.conversation.compaction import view_of
from rawko.machines.agent_loop.conversation.fallback_model import fallback_input
from rawko.machines.agent_loop.conversation.shortening import sent_view
from rawko.machines.agent_loop.sub_agents.paths import path_of
from rawko.vocabulary.agent import AgentConfig, AgentDescription
from rawko.vocabulary.plan import Plan

bindings = Bindings()
bindings.add("context", "AgentLoopContext", AgentLoopContext)


def agent_loop_input(
    agent: AgentConfig | AgentDescription,
    prompt: str = "",
    *,
    messages: Sequence[Mapping[str, Any]] = (),
    plan: Plan | None = None,
    seed: int | str = 0,
    is_interactive: bool = False,
) -> dict[str, Any]:
    """The input of the machine for one run of an agent.

    Args:
        prompt: The user's message; if empty, the machine waits in `idle` for a USER_MESSAGE.
        messages: The agent's earlier conversation as wire messages, to resume it (C-35).
        is_interactive: True for a conversation: `complete` leads back to `idle` (C-20).
    """
    given = {
        "agent": agent.name,
        "prompt": prompt,
        "messages": list(messages),
        "plan": None if plan is None else plan.to_json(),
        "limits": agent.limits.to_json(),
        "can_update_plan": agent.tools.permits("update_plan"),
        "seed": seed,
        "is_interactive": is_interactive,
        **_demanded(agent),
        **({"fallback": agent.fallback.to_json()} if agent.fallback.model is not None else {}),
    }
    return {**given, "parameters": agent.parameters} if agent.parameters else given


def _demanded(agent: AgentConfig | AgentDescription) -> dict[str, Any]:
    """The evidence that the agent must show; {} where it needs none, because some charts have no such fields."""
    if not agent.evidence:
        return {}
    demands = [demand.to_json() for demand in agent.evidence]
    return {"evidence_demands": demands, "max_refusals": agent.evidence_refusals}


@bindings.input
def stream_agent_input(context: AgentLoopContext, event: Event) -> Any:
    """The conversation so far, shared and not copied, unless it was compacted (C-35)."""
    return {
        "agent": context.agent,
        "path": path_of(context),
        "messages": sent_view(context.messages, view_of(context)),
        "can_update_plan": context.can_update_plan,
        **fallback_input(context),
    }


@bindings.input
def open_call_input(context: AgentLoopContext, event: Event) -> Any:
    """The open call, the scope of a person's approval, and the snapshot before the call."""
    assert context.open_call is not None
    return {
        "agent": path_of(context),
        "call": context.open_call.call,
        "approval": context.approval,
        "snapshot": context.current_snapshot,
    }


@bindings.input
def capture_input(context: AgentLoopContext, event: Event) -> Any:
    """The paths that the last tool may have written, and the trees to compare with."""
    label = context.tool_history[-1].call.name if len(context.tool_history) else START_LABEL
    return _capture(context, label, context.touched)


@bindings.input
def last_capture_input(context: AgentLoopContext, event: Event) -> Any:
    """A capture of all files after a stop."""
    return _capture(context, CANCELLED_LABEL, None)


def _capture(context: AgentLoopContext, label: str, touched: Any) -> dict[str, Any]:
    history = context.snapshot_history
    return {
        "label": label,
        "touched": touched,
        "first_tree": history[0].tree if len(history) else None,
        "last_tree": history[-1].tree if len(history) else None,
    }


@bindings.input
def ask_person_input(context: AgentLoopContext, event: Event) -> Any:
    """The question to the person, with the open call where the question is about its approval."""
    assert context.question is not None
    call = context.open_call.call if context.open_call and context.question.kind == "approval" else None
    return {"agent": path_of(context), "kind": context.question.kind, "text": context.question.text, "call": call}


@bindings.delay
def retry_delay(context: AgentLoopContext, event: Event) -> int:
    """Milliseconds before the turn is tried again, at least as long as the provider asked for (C-24)."""
    error = context.last_error
    return backoff_ms(
        context.retries,
        base_ms=context.backoff.base_ms,
        cap_ms=context.backoff.cap_ms,
        seed=context.seed,
        key=f"{context.agent}:{context.turns}",
        retry_after_ms=error.retry_after_ms if error else None,
    )


@bindings.output
def agent_output(context: AgentLoopContext, event: Event) -> Any:
    """The result of the run; `error` only of a failure, `reason` only of a limit (C-13, C-33, C-34, C-48).

    `messages` is the conversation to continue with: where it was compacted (`is_compacted`), its compacted form.
    """
    history = context.snapshot_history
    is_compacted = context.view.head != ""
    return {
        "outcome": context.outcome,
        "summary": context.summary,
        "error": context.last_error if context.outcome == "failure" else None,
        "reason": context.reason if context.outcome == "limit" else None,
        "usage": context.usage,
        "messages": sent_view(context.messages, view_of(context)) if is_compacted else context.messages,
        "new_messages_from": 0 if is_compacted else context.new_messages_from,
        "is_compacted": is_compacted,
        "plan_updates": context.plan_updates,
        "files_changed": _files_changed(context),
        "tree_before": history[0].tree if len(history) else None,
        "tree_after": history[-1].tree if len(history) else None,
        "turns": context.turns,
        "tool_steps": context.tool_steps,
        "model": context.model,
        **({"evidence": context.evidence} if len(context.evidence) else {}),
        **({"cost_usd": context.cost_usd} if context.cost_usd else {}),
    }


def _files_changed(context: AgentLoopContext) -> list[Any]:
    """The changes of all steps since the first snapshot, sorted by path (C-48).

    Each item of `file_changes` has the change of a path since the first snapshot, so the last item of a path counts.
    """
    found: dict[str, Any] = {change.path: change for change in context.files_changed}
    for written in context.file_changes:
        found.update((change.path, change) for change in written)
    return [found[path] for path in sorted(found) if found[path].kind != "unchanged"]
