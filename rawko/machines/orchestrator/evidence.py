"""Evidence for the arbiter's COMPLETE: the check's input, its result, and the error where evidence is missing.

Pure. A refused COMPLETE sets `last_error` but counts no failure: the arbiter and the next agent read the error.
"""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign, emit, log
from rawko.interpreter.data.values import Record, thaw
from rawko.machines.orchestrator.arbiter.decision import ArbiterDecision
from rawko.machines.orchestrator.guards import output_of
from rawko.vocabulary.errors import ErrorContext
from rawko.vocabulary.evidence import missing_evidence

bindings = Bindings()


@bindings.guard
def demands_evidence(context: Record, event: Event) -> bool:
    """COMPLETE ends the task only when the demanded evidence holds."""
    return len(context.evidence_demands) > 0


@bindings.guard
def evidence_holds(context: Record, event: Event) -> bool:
    """Every demand holds."""
    return all(one["held"] for one in output_of(event)["evidence"])


@bindings.guard
def has_refusals_left(context: Record, event: Event) -> bool:
    """COMPLETE may be refused once more before the task stops."""
    return bool(context.refusals < context.max_refusals)


@bindings.input
def capture_delivery_input(context: Record, event: Event) -> dict[str, Any]:
    return {}


@bindings.input
def check_evidence_input(context: Record, event: Event) -> dict[str, Any]:
    """The demands, the evidence of earlier checks, and the snapshot of the files to check."""
    return {"demands": context.evidence_demands, "known": context.evidence, "snapshot": context.delivery}


@bindings.action
def record_delivery(context: Record, event: Event) -> Updates:
    """Record the snapshot of the files to deliver; an interrupted check starts with it again."""
    return assign(delivery=output_of(event)["snapshot"])


@bindings.action
def record_evidence(context: Record, event: Event) -> Updates:
    """Record the evidence; the next check starts from it."""
    found = output_of(event)["evidence"]
    return assign(evidence=found), emit("EVIDENCE", evidence=found)


@bindings.action
def refuse_completion(context: Record, event: Event) -> Updates:
    """Refuse COMPLETE: the missing evidence becomes the error that the arbiter and the next agent read."""
    missing = missing_evidence(output_of(event)["evidence"])
    error = ErrorContext(
        attempted="a look for evidence",
        message=f"The task is not complete: this was looked for just now and does not hold:\n{missing}",
        category="validation_error",
    )
    return (
        assign(refusals=context.refusals + 1, last_error=thaw(error.to_json())),
        log(f"[rawko] Completion refused ({context.refusals + 1} of {context.max_refusals})", level="warning"),
    )


@bindings.action
def assign_evidence_limit(context: Record, event: Event) -> Updates:
    """End the task at its limit, because COMPLETE was refused `max_refusals` times."""
    missing = missing_evidence(output_of(event)["evidence"])
    summary = f"Stopped: evidence was missing {context.refusals + 1} times.\n{missing}"
    decision = ArbiterDecision(type="COMPLETE", summary=summary).to_json()
    return assign(last_arbiter_decision=decision, outcome="limit"), log("[rawko] Evidence is missing", level="warning")
