"""Guards of the agent machine: pure conditions on context and event, one function per name in the chart.

The last section has the conditions of the chart's contracts: the invariants of AL-080.
"""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.agent_loop.context import CANCELLED_LABEL, AgentLoopContext
from rawko.machines.agent_loop.control import MODELS
from rawko.machines.agent_loop.conversation.closing import spent
from rawko.machines.agent_loop.conversation.own_answers import immediate_answer
from rawko.machines.agent_loop.conversation.rules import unanswered
from rawko.vocabulary.errors import RETRYABLE_CODES, falls_back

bindings = Bindings()


# ---------------------------------------------------------------- start and mode


@bindings.guard
def has_prompt(context: AgentLoopContext, event: Event) -> bool:
    """The input has a prompt."""
    return context.prompt != ""


@bindings.guard
def is_unused(context: AgentLoopContext, event: Event) -> bool:
    """The conversation is empty, so that an earlier run's conversation can be taken over."""
    return len(context.messages) == 0


@bindings.guard
def is_interactive(context: AgentLoopContext, event: Event) -> bool:
    """The run is a conversation with a person (C-20)."""
    return context.is_interactive


# ---------------------------------------------------------------- the model's turn


@bindings.guard
def stopped_by(context: AgentLoopContext, event: Event, *, reason: str) -> bool:
    """The last turn ended with this stop reason (C-38)."""
    return context.stop_reason == reason


@bindings.guard
def is_retryable_error(context: AgentLoopContext, event: Event) -> bool:
    """The same request may succeed later, by the error's code; the text is never consulted (C-18)."""
    return event.error.get("code") in RETRYABLE_CODES


@bindings.guard
def is_error_code(context: AgentLoopContext, event: Event, *, code: str) -> bool:
    """The actor failed with this code."""
    return bool(event.error.get("code") == code)


@bindings.guard
def has_retries_left(context: AgentLoopContext, event: Event) -> bool:
    """The turn may be tried again (C-24)."""
    return context.retries < context.max_retries


@bindings.guard
def can_fall_back(context: AgentLoopContext, event: Event) -> bool:
    """The fallback model is configured for this failure, and is not itself the model that failed."""
    return not context.is_fallen_back and falls_back(context.fallback, event.error, context.retries)


@bindings.guard
def has_nudges_left(context: AgentLoopContext, event: Event) -> bool:
    """The model was told fewer than `max_nudges` times not to stop silently (C-57)."""
    return context.nudges < context.max_nudges


@bindings.guard
def has_continuations_left(context: AgentLoopContext, event: Event) -> bool:
    """Fewer than `max_continuations` cut-off answers were continued (C-38)."""
    return context.continuations < context.max_continuations


@bindings.guard
def turn_limit_reached(context: AgentLoopContext, event: Event) -> bool:
    """The turns that the limit allows are used up (C-21, C-58)."""
    return context.turns - context.turns_from >= context.limits.turns


@bindings.guard
def token_limit_reached(context: AgentLoopContext, event: Event) -> bool:
    """The run and the agents that it called have used the tokens that the limit allows."""
    most = getattr(context.limits, "tokens", None)  # the field is absent where there is no such limit
    return most is not None and spent(context.usage).total_tokens - context.tokens_from >= most


@bindings.guard
def cost_limit_reached(context: AgentLoopContext, event: Event) -> bool:
    """The run and the agents that it called have cost what the limit allows."""
    most = getattr(context.limits, "cost_usd", None)
    return most is not None and bool(context.cost_usd - context.cost_from >= most)


# ---------------------------------------------------------------- the turn's calls


@bindings.guard
def has_pending_call(context: AgentLoopContext, event: Event) -> bool:
    """The turn has a tool call that is not yet begun (C-55)."""
    return len(context.pending_calls) > 0


@bindings.guard
def is_answered_by_machine(context: AgentLoopContext, event: Event) -> bool:
    """The machine answers the next call itself: a plan update, an invalid control call, or a call that was cut off."""
    return has_pending_call(context, event) and immediate_answer(context) is not None


@bindings.guard
def next_call_is_for_a_tool(context: AgentLoopContext, event: Event) -> bool:
    """The next call is complete and is not one of the control tools (`control`)."""
    pending = context.pending_calls
    return len(pending) > 0 and not pending[0].is_truncated and pending[0].call.name not in MODELS


@bindings.guard
def next_call_is(context: AgentLoopContext, event: Event, *, tool: str) -> bool:
    """The next call is of this tool. Checked after `is_answered_by_machine`, so a control call fits its schema."""
    return has_pending_call(context, event) and context.pending_calls[0].call.name == tool


@bindings.guard
def has_turn_results(context: AgentLoopContext, event: Event) -> bool:
    """The turn has answers that the model has not been sent yet."""
    return len(context.turn_results) > 0


@bindings.guard
def tool_limit_reached(context: AgentLoopContext, event: Event) -> bool:
    """The tool calls that the limit allows are used up (C-21, C-58)."""
    return context.tool_steps - context.tool_steps_from >= context.limits.tool_steps


@bindings.guard
def gate_says(context: AgentLoopContext, event: Event, *, decision: str) -> bool:
    """The gate's verdict on the open call: allow, ask or deny."""
    return bool(event.output["decision"] == decision)


@bindings.guard
def ran_read_only_tool(context: AgentLoopContext, event: Event) -> bool:
    """The tool declares itself read-only; after every other tool the workspace is captured (C-53)."""
    return event.output.get("is_read_only", False) is True


@bindings.guard
def last_tool_failed(context: AgentLoopContext, event: Event) -> bool:
    """The last tool result is an error; a run that ends now leaves it unrepaired (C-13)."""
    return len(context.tool_history) > 0 and context.tool_history[-1].result.is_error


@bindings.guard
def tool_is_broken(context: AgentLoopContext, event: Event) -> bool:
    """The last tool is defective; repeating the call cannot help (C-13)."""
    return len(context.tool_history) > 0 and context.tool_history[-1].is_broken


@bindings.guard
def repeats_failure(context: AgentLoopContext, event: Event) -> bool:
    """The last `limits.repeats` calls are equal in tool, input and error (C-13)."""
    count = context.limits.repeats
    if count == 0 or not last_tool_failed(context, event) or len(context.tool_history) < count:
        return False
    recent = [context.tool_history[-place] for place in range(1, count + 1)]
    return all(_is_same_failure(entry, recent[0]) for entry in recent[1:])


def _is_same_failure(one: Any, other: Any) -> bool:
    return bool(
        one["call"]["name"] == other["call"]["name"]
        and one["call"]["input"] == other["call"]["input"]
        and one["result"]["is_error"] == other["result"]["is_error"]
        and one["result"]["content"] == other["result"]["content"]
    )


# ---------------------------------------------------------------- people


@bindings.guard
def is_answered(context: AgentLoopContext, event: Event) -> bool:
    """A person has answered."""
    return event.output is not None


# ---------------------------------------------------------------- contracts (AL-080)


@bindings.guard
def is_paired(context: AgentLoopContext, event: Event) -> bool:
    """Pairing: every call of the conversation has its answer, and no call is open or pending."""
    return (
        len(context.pending_calls) == 0
        and len(context.turn_results) == 0
        and context.open_call is None
        and not unanswered(context.messages)
    )


@bindings.guard
def has_one_open_call(context: AgentLoopContext, event: Event) -> bool:
    """Concurrency: exactly one call is open, and it is not one of the control tools."""
    return context.open_call is not None and context.open_call.call.name not in MODELS


@bindings.guard
def has_no_open_call(context: AgentLoopContext, event: Event) -> bool:
    """Concurrency: no call is open."""
    return context.open_call is None


@bindings.guard
def steps_match_history(context: AgentLoopContext, event: Event) -> bool:
    """Monotonicity: the number of tool steps is the length of the tool history."""
    return context.tool_steps == len(context.tool_history)


@bindings.guard
def snapshots_match_changes(context: AgentLoopContext, event: Event) -> bool:
    """Entries = changes + 1: each entry but the first differs from the one before and names its call (C-53).

    Only the last capture of a cancelled run may find a change without a call.
    """
    history = context.snapshot_history
    if len(history) < 2:
        return True
    is_owned = history[-1].call_id is not None or history[-1].label == CANCELLED_LABEL
    return history[-1].tree != history[-2].tree and is_owned


@bindings.guard
def has_snapshot(context: AgentLoopContext, event: Event) -> bool:
    """Entry 0 of the snapshots is captured (C-52)."""
    return context.current_snapshot is not None
