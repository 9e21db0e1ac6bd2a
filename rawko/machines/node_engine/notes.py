"""Reports of a run: for each change one event for observers and one line for the log (NE-012). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from rawko.interpreter.data.values import Record, thaw
from rawko.machines.node_engine.context import FailureReason, NodeEngineContext
from rawko.machines.node_engine.walk import missing_input
from rawko.vocabulary.errors import ErrorContext

MODULE: Final = "agent"
ACTOR: Final = "worker"

INTERRUPTED: Final = "ATTEMPT_INTERRUPTED"
"""Type of the one event that is persisted for an attempt without a result."""


class Note(NamedTuple):
    """An event (name and data), and the log line with the same content."""

    event: str
    data: dict[str, Any]
    message: str
    level: str = "info"


def log_fields(context: NodeEngineContext) -> dict[str, Any]:
    """The fields of every log line (NE-012)."""
    return {
        "module": MODULE,
        "actor": ACTOR,
        "run_id": context.run_id,
        "node_name": context.node_name,
        "step_ordinal": context.step_ordinal,
    }


def run_started(context: NodeEngineContext) -> Note:
    return Note("RUN_STARTED", {"node_name": context.node_name}, f"Run starts at {context.node_name!r}")


def attempt_started(context: NodeEngineContext) -> Note:
    """`context` already has the number of the attempt."""
    data = {"node_name": context.node_name, "step_ordinal": context.step_ordinal}
    return Note("ATTEMPT_STARTED", data, f"Attempt {context.step_ordinal} of {context.node_name!r}")


def attempt_done(context: NodeEngineContext, result: Any) -> Note:
    """NE-008. `result`: the EngineResult, or the same as JSON."""
    data = {"node_name": context.node_name, "step_ordinal": context.step_ordinal, "result": _json(result)}
    outcome = str(result.outcome).lower() if result.outcome is not None else "no outcome"
    error = f": {result.error.message}" if result.error is not None else ""
    message = f"Attempt {context.step_ordinal} of {context.node_name!r}: {outcome}{error}"
    return Note("ATTEMPT_DONE", data, message, "info" if result.outcome == "SUCCESS" else "warning")


def _json(result: Any) -> Any:
    """A result as JSON; a result in the machine's context is JSON already."""
    return result if isinstance(result, Record) else result.to_json()


def attempt_interrupted(context: NodeEngineContext) -> Note:
    why = context.stop_reason or (context.error.message if context.error is not None else "")
    data = {"node_name": context.node_name, "step_ordinal": context.step_ordinal, "reason": why}
    return Note(INTERRUPTED, data, f"Attempt {context.step_ordinal} of {context.node_name!r} ends: {why}", "warning")


def retry_scheduled(context: NodeEngineContext, delay_ms: int) -> Note:
    data = {"node_name": context.node_name, "retry": context.retries, "delay_ms": delay_ms}
    return Note("RETRY_SCHEDULED", data, f"Next attempt of {context.node_name!r} in {delay_ms} ms")


def transitioned(before: str, context: NodeEngineContext, *, is_degraded: bool) -> Note:
    """`context` is the one after the transition."""
    data = {"from_node": before, "to_node": context.node_name, "is_degraded": is_degraded}
    how = " after a failure" if is_degraded else ""
    message = f"On from {before!r} to {context.node_name!r}{how}"
    return Note("TRANSITIONED", data, message, "warning" if is_degraded else "info")


def backtracked(before: str, context: NodeEngineContext) -> Note:
    """`context` is the one after the step back."""
    data = {"from_node": before, "to_node": context.node_name, "backtracks": context.backtracks}
    return Note("BACKTRACKED", data, f"Back from {before!r} to {context.node_name!r}", "warning")


def run_ended(context: NodeEngineContext) -> Note:
    why = f": {context.reason}" if context.reason else ""
    detail = f" ({context.error.message})" if context.error is not None else ""
    message = f"Run {context.outcome} after {context.step_ordinal} attempts{why}{detail}"
    data = {"outcome": context.outcome, "reason": context.reason}
    return Note("RUN_ENDED", data, message, "error" if context.outcome == "failed" else "info")


UNDECIDABLE: Final = "the engine's result says neither success nor failure"


def input_failure(context: NodeEngineContext) -> ErrorContext:
    """An error that names the missing inputs."""
    names = " and ".join(map(repr, missing_input(context)))
    message = f"the input lacks {names}; accepted: the name of a node, and an integer or a text as the seed"
    return ErrorContext(message=message, category="validation_error", attempted="start")


def node_failure(context: NodeEngineContext) -> ErrorContext:
    """The error of a run whose last node failed."""
    result = context.result
    found = result.error if result is not None else None
    return _as_error(found, context, f"node {context.node_name!r} failed")


def undecidable(context: NodeEngineContext) -> ErrorContext:
    return ErrorContext(agent=context.node_name, message=UNDECIDABLE, category="validation_error")


def backtracking_failure(context: NodeEngineContext) -> ErrorContext:
    """An error with the bound, and the failure of the last node."""
    limit = context.policies.max_backtracks
    last = node_failure(context)
    message = f"the walk has gone back {context.backtracks} times, at most {limit} are allowed; last: {last.message}"
    return last.model_copy(update={"message": message})


CALLS: Final[Mapping[str, str]] = {
    "engine_error": "run_once",
    "check_failed": "should_stop",
    "persist_failed": "on_persist",
    "report_failed": "on_attempt",
}
"""The call that failed, by failure reason."""


def call_failure(context: NodeEngineContext, error: Any, reason: FailureReason) -> ErrorContext:
    """The error of a failed call. `error`: the data of an ErrorContext, possibly incomplete."""
    call = CALLS[reason]
    found = _as_error(error, context, f"{call} failed", attempted=call)
    if found.code == "timeout":  # both drivers have a bound of their own; their messages are to be equal
        return found.model_copy(update={"message": f"{call} did not end in time"})
    return found


def _as_error(found: Any, context: NodeEngineContext, message: str, attempted: str = "") -> ErrorContext:
    """An ErrorContext from data that may be incomplete; message and category are filled in."""
    data = found.to_json() if isinstance(found, ErrorContext) else dict(thaw(found)) if found is not None else {}
    known = {name: value for name, value in data.items() if name in ErrorContext.model_fields}
    known["agent"] = known.get("agent") or context.node_name
    known["attempted"] = known.get("attempted") or attempted
    try:
        return ErrorContext.model_validate({"message": message, "category": "unknown", **known})
    except ValueError:  # unknown category or code: the message still counts
        return ErrorContext(agent=context.node_name, message=str(data.get("message", message)), category="unknown")
