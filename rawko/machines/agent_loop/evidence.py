"""Evidence for an agent's claim that the task is done: what is looked at, kept, and answered where it is missing. Pure.

complete          the machine looks: `make test` fails
refusal 1         the call is answered with what is missing; the agent goes on
complete          the machine looks: all holds; done
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
    """The agent's word alone does not complete the run."""
    return len(context.evidence_demands) > 0


@bindings.guard
def evidence_holds(context: AgentLoopContext, event: Event) -> bool:
    """Everything that is demanded was found."""
    return all(one["held"] for one in event.output["evidence"])


@bindings.guard
def has_refusals_left(context: AgentLoopContext, event: Event) -> bool:
    """The claim may be refused once more before the run stops."""
    return context.refusals < context.max_refusals


@bindings.input
def check_evidence_input(context: AgentLoopContext, event: Event) -> Any:
    """What is demanded, what earlier looks have found, and the files as they were before this look."""
    return {
        "demands": context.evidence_demands,
        "known": context.evidence,
        "snapshot": context.current_snapshot,
    }


@bindings.action
def record_evidence(context: AgentLoopContext, event: Event) -> Updates:
    """Keep what the look has found; the next claim begins with it."""
    found = event.output["evidence"]
    return assign(evidence=found), tell_observers("EVIDENCE", context, evidence=found)


@bindings.action
def refuse_completion(context: AgentLoopContext, event: Event) -> Updates:
    """Answer the call with what is missing, so that the agent goes on."""
    call = context.pending_calls[0].call
    text = texts.EVIDENCE_MISSING.format(missing=missing_evidence(event.output["evidence"]))
    return (
        assign(pending_calls=context.pending_calls[1:], refusals=context.refusals + 1),
        append("turn_results", ToolResult(call_id=call.id, content=text, is_error=True)),
    )


@bindings.action
def forget_refusals(context: AgentLoopContext, event: Event) -> Updates:
    """The next claim counts from the beginning: it is another task, or a person lets the agent go on."""
    return assign(refusals=0)
