"""Evidence for a `complete` call: the check's input, its result, and the answer to a call without evidence. Pure.

complete          the machine runs the check: `make test` fails
refusal 1         the call is answered with the failure; the agent continues
complete          the machine runs the check again: all demands hold; done
"""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, append, assign
from rawko.machines.agent_loop.context import AgentLoopContext
from rawko.machines.agent_loop.conversation import texts
from rawko.machines.agent_loop.conversation.closing import tell_observers
from rawko.vocabulary.evidence import missing_evidence
from rawko.vocabulary.messages import ToolResult

bindings = Bindings()


@bindings.guard
def demands_evidence(context: AgentLoopContext, event: Event) -> bool:
    """The run ends only when the demanded evidence holds, not by `complete` alone."""
    return len(context.evidence_demands) > 0


@bindings.guard
def evidence_holds(context: AgentLoopContext, event: Event) -> bool:
    """Every demand holds."""
    return all(one["held"] for one in event.output["evidence"])


@bindings.guard
def has_refusals_left(context: AgentLoopContext, event: Event) -> bool:
    """A `complete` call may be refused once more before the run stops."""
    return context.refusals < context.max_refusals


@bindings.input
def check_evidence_input(context: AgentLoopContext, event: Event) -> Any:
    """The demands, the evidence of earlier checks, and the snapshot before this check."""
    return {
        "demands": context.evidence_demands,
        "known": context.evidence,
        "snapshot": context.current_snapshot,
    }


@bindings.action
def record_evidence(context: AgentLoopContext, event: Event) -> Updates:
    """Record the evidence; the next check starts from it."""
    found = event.output["evidence"]
    return assign(evidence=found), tell_observers("EVIDENCE", context, evidence=found)


@bindings.action
def refuse_completion(context: AgentLoopContext, event: Event) -> Updates:
    """Answer the `complete` call with the missing evidence, so that the agent continues."""
    call = context.pending_calls[0].call
    text = texts.EVIDENCE_MISSING.format(missing=missing_evidence(event.output["evidence"]))
    return (
        assign(pending_calls=context.pending_calls[1:], refusals=context.refusals + 1),
        append("turn_results", ToolResult(call_id=call.id, content=text, is_error=True)),
    )


@bindings.action
def forget_refusals(context: AgentLoopContext, event: Event) -> Updates:
    """Reset the count of refused `complete` calls: the task is done, or a person lets the agent continue."""
    return assign(refusals=0)
