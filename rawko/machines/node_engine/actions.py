"""Actions of the node engine: (context, event) to updates as data, one function per name in the chart. Pure.

`walk` has the changes of the context, `notes` the events and log lines. In the order of a run: start, attempt, what
follows it, stop, end.
"""

from __future__ import annotations

from typing import Any, cast

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Update, Updates, assign, assigned, emitted, log, logged
from rawko.interpreter.data.values import Record, changed
from rawko.machines.node_engine import notes, walk
from rawko.machines.node_engine.context import OUT_OF_TIME, REQUESTED, Ending, FailureReason, NodeEngineContext
from rawko.machines.node_engine.decide import is_way_back, planned_delay_ms, target_of
from rawko.machines.node_engine.notes import Note
from rawko.vocabulary.errors import ErrorContext

bindings = Bindings()


def _tell(context: NodeEngineContext, note: Note) -> tuple[Update, Update]:
    event, data, message, level = note  # made as records without checking: the values are texts, numbers or frozen
    return emitted(event, Record(data)), logged(message, level, Record(notes.log_fields(context)))


def _after(context: Any, changes: walk.Changes) -> NodeEngineContext:
    """The context after the changes, for the note about them."""
    return cast(NodeEngineContext, changed(context, changes))


# ---------------------------------------------------------------- start


@bindings.action
def start_run(context: NodeEngineContext, event: Event) -> Updates:
    """Record the start time of the run."""
    return assigned(walk.started(context, event.at_ms)), *_tell(context, notes.run_started(context))


# ---------------------------------------------------------------- the attempt


@bindings.action
def begin_attempt(context: NodeEngineContext, event: Event) -> Updates:
    """Number the attempt."""
    changes = walk.begun(context)
    after = _after(context, changes)
    return assigned(changes), *_tell(after, notes.attempt_started(after))


@bindings.action
def record_attempt(context: NodeEngineContext, event: Event) -> Updates:
    """Record the result of the attempt, and the data and tokens in it."""
    result = event.output
    return assigned(walk.attempted(context, result)), *_tell(context, notes.attempt_done(context, result))


@bindings.action
def interrupt_attempt(context: NodeEngineContext, event: Event) -> Updates:
    """Report an attempt that ends without a result."""
    return _tell(context, notes.attempt_interrupted(context))


# ---------------------------------------------------------------- what follows


@bindings.action
def schedule_retry(context: NodeEngineContext, event: Event) -> Updates:
    """Count a retry of the same node, and report the delay."""
    changes = walk.retried(context)
    return assigned(changes), schedule_wait(_after(context, changes), event)


@bindings.action
def schedule_wait(context: NodeEngineContext, event: Event) -> Updates:
    """Report the delay before the next attempt."""
    return _tell(context, notes.retry_scheduled(context, planned_delay_ms(context)))


@bindings.action
def take_way(context: NodeEngineContext, event: Event) -> Updates:
    """Move to the node that the decision leads to, forward or back."""
    before, target = context.node_name, target_of(context)
    if is_way_back(context):
        changes = walk.went_back(context, target)
        after = _after(context, changes)
        return assigned(changes), *_tell(after, notes.backtracked(before, after))
    changes = walk.moved(context, target)
    after = _after(context, changes)
    is_degraded = context.result is not None and context.result.outcome == "FAILURE"
    return assigned(changes), *_tell(after, notes.transitioned(before, after, is_degraded=is_degraded))


# ---------------------------------------------------------------- stopping


@bindings.action
def note_stop(context: NodeEngineContext, event: Event) -> Updates:
    """Record the reason of a stop; the first one counts. The run stops whatever the text of the reason."""
    if context.stop_reason is not None:
        return None
    return assign(stop_reason=str(event.data.get("reason") or REQUESTED))


@bindings.action
def take_verdict(context: NodeEngineContext, event: Event) -> Updates:
    """Record the reason that `should_stop` gave."""
    return assign(stop_reason=event.output["reason"] or REQUESTED)


@bindings.action
def stop_by_budget(context: NodeEngineContext, event: Event) -> Updates:
    """Record which budget is used up as the reason of the stop."""
    return assign(stop_reason=walk.spent_budget(context, event.at_ms))


@bindings.action
def stop_out_of_time(context: NodeEngineContext, event: Event) -> Updates:
    """Record that the time budget ran out during an attempt."""
    return assign(stop_reason=OUT_OF_TIME)


# ---------------------------------------------------------------- the ends


@bindings.action
def fail_input(context: NodeEngineContext, event: Event) -> Updates:
    """Fail the run: its input lacks the first node or the seed."""
    return _failed("missing_input", notes.input_failure(context))


@bindings.action
def fail_node(context: NodeEngineContext, event: Event) -> Updates:
    """Fail the run: the node failed, and neither a retry nor another node is left."""
    return _failed("node_failed", notes.node_failure(context))


@bindings.action
def fail_backtracking(context: NodeEngineContext, event: Event) -> Updates:
    """Fail the run: the bound of steps back is used up."""
    return _failed("backtrack_limit", notes.backtracking_failure(context))


@bindings.action
def fail_undecidable(context: NodeEngineContext, event: Event) -> Updates:
    """Fail the run: no decision follows from the result (C-60)."""
    return _failed("undecidable_result", notes.undecidable(context))


@bindings.action
def fail_call(context: NodeEngineContext, event: Event, *, reason: FailureReason) -> Updates:
    """Fail the run: an actor's call failed; the attempt's result is in the journal and in the output (C-64)."""
    return _failed(reason, notes.call_failure(context, event.error, reason))


@bindings.action
def log_persist_failure(context: NodeEngineContext, event: Event) -> Updates:
    """Log that an interrupted attempt could not be persisted; the run ends anyway, the journal has the attempt."""
    error = notes.call_failure(context, event.error, "persist_failed")
    return log(f"on_persist failed: {error.message}", "error", **notes.log_fields(context))


@bindings.action
def end_run(context: NodeEngineContext, event: Event, *, outcome: Ending) -> Updates:
    """Record and report the outcome of the run."""
    reason = context.stop_reason if outcome == "stopped" else context.reason
    changes = {"outcome": outcome, "reason": reason}
    return assigned(changes), *_tell(context, notes.run_ended(_after(context, changes)))


def _failed(reason: FailureReason, error: ErrorContext) -> Updates:
    return assign(reason=reason, error=error)
