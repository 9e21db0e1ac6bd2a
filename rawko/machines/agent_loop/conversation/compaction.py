"""Compaction in the chart: its guards and actions, when it is tried, and how often (C-35). Pure.

The steps are tried in order: old tool results become pointers, then a summary replaces the older part, then the run
stops at a limit. A turn that the window did not cut off starts again with the first step. `shortening` decides which
messages are kept.
"""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign, log
from rawko.interpreter.data.values import thaw
from rawko.machines.agent_loop.context import AgentLoopContext, View
from rawko.machines.agent_loop.conversation import texts
from rawko.machines.agent_loop.conversation.closing import close_turn, spent, tell_observers
from rawko.machines.agent_loop.conversation.fallback_model import fallback_input
from rawko.machines.agent_loop.conversation.shortening import (
    NEARLY_FULL,
    first_text,
    is_worth_pointers,
    keep_from,
    pointers_until,
    sent_view,
    size_of,
    transcript,
)

bindings = Bindings()


def view_of(context: AgentLoopContext) -> View:
    """The part of the conversation that is sent to the model."""
    return View(**thaw(context.view))


# ---------------------------------------------------------------- when


@bindings.guard
def is_nearly_full(context: AgentLoopContext, event: Event) -> bool:
    """The last turn used `NEARLY_FULL` of the context window, and no compaction happened since the turn before it."""
    window = context.context_window
    return (
        window is not None
        and context.context_tokens >= NEARLY_FULL * window
        and (context.compactions == 0 or context.turns > context.compacted_at + 1)
    )


@bindings.guard
def can_shorten(context: AgentLoopContext, event: Event) -> bool:
    """Sending old tool results as pointers would save enough, and no compaction was tried since the last whole turn."""
    if context.compactions_in_a_row > 0 or context.max_compactions == 0:
        return False
    return is_worth_pointers(context.messages, view_of(context))


@bindings.guard
def can_compact(context: AgentLoopContext, event: Event) -> bool:
    """Another summary is allowed, and there is an assistant message that it would replace."""
    if context.compactions_in_a_row >= context.max_compactions:
        return False
    start, kept = context.view.kept_from, _kept_from(context, context.compactions_in_a_row + 1)
    return any(message["role"] == "assistant" for message in context.messages[start:kept])


@bindings.guard
def is_compacting(context: AgentLoopContext, event: Event) -> bool:
    """The request that was interrupted is a compaction, not a turn."""
    return context.is_compacting


def _kept_from(context: AgentLoopContext, attempt: int) -> int:
    return keep_from(context.messages, view_of(context), attempt=attempt)


# ---------------------------------------------------------------- what


@bindings.action
def shorten_results(context: AgentLoopContext, event: Event) -> Updates:
    """Send tool results of older turns as pointers; the model can make the calls again."""
    view = view_of(context)
    changed = view.model_copy(update={"pointers_before": pointers_until(context.messages)})
    # The pointers ask the model to make calls again, which must then not count as repetition.
    return assign(view=changed, recent_calls=[]), _counted(context), _told(context, "results", changed)


@bindings.action
def begin_compaction(context: AgentLoopContext, event: Event) -> Updates:
    """Count an attempt at a summary of the older part of the conversation."""
    return assign(is_compacting=True), _counted(context)


@bindings.action
def take_summary(context: AgentLoopContext, event: Event) -> Updates:
    """Send the summary in place of the older part from here on."""
    done = event.output
    view = view_of(context)
    changed = View(head=done["head"], kept_from=done["kept_from"], pointers_before=view.pointers_before)
    return (
        assign(
            view=changed,
            is_compacting=False,
            recent_calls=[],
            retries=0,
            last_error=None,
            usage=spent(context.usage) + spent(done["usage"]),
            cost_usd=context.cost_usd + (done.get("cost_usd") or 0.0),
        ),
        _told(context, "summary", changed),
    )


@bindings.action
def resume_cut_off(context: AgentLoopContext, event: Event) -> Updates:
    """Answer the calls of a message that the window cut off, and ask for its rest."""
    return close_turn(context, text=texts.CUT_OFF_BY_WINDOW)


def _counted(context: AgentLoopContext) -> Updates:
    return assign(
        compactions=context.compactions + 1,
        compactions_in_a_row=context.compactions_in_a_row + 1,
        compacted_at=context.turns,
    )


def _told(context: AgentLoopContext, kind: str, changed: View) -> Updates:
    before = size_of(sent_view(context.messages, view_of(context)))
    after = size_of(sent_view(context.messages, changed))
    return (
        log(f"The conversation was compacted from {before:,} to {after:,} characters", agent=context.agent),
        tell_observers("CONVERSATION_COMPACTED", context, kind=kind, chars_before=before, chars_after=after),
    )


# ---------------------------------------------------------------- what the actor is given


@bindings.input
def summarise_input(context: AgentLoopContext, event: Event) -> Any:
    """The messages to summarise, and what a summary must keep: task, plan, and the earlier summary."""
    view, kept = view_of(context), _kept_from(context, context.compactions_in_a_row)
    return {
        "agent": context.agent,
        "task": first_text(context.messages),
        "prompt": context.prompt,
        "plan": context.plan,
        "earlier": view.head,
        "entries": transcript(context.messages, view, until=kept, window_tokens=context.context_window),
        "kept_from": kept,
        **fallback_input(context),
    }
