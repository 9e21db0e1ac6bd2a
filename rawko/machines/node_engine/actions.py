"""Actions of the node engine: (context, event) to updates as data, one function per name in the chart. Pure.

What changes is in `walk`, what is told in `notes`; in the order of a run: start, the attempt, what follows, the ends.
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
    event, data, message, level = note  # records as they are: nothing in them but texts, numbers, and what is frozen
    return emitted(event, Record(data)), logged(message, level, Record(notes.log_fields(context)))


def _after(context: Any, changes: walk.Changes) -> NodeEngineContext:
    """The context as it is after the changes, for what is told of it."""
    return cast(NodeEngineContext, changed(context, changes))


# ---------------------------------------------------------------- start


@bindings.action
def start_run(context: NodeEngineContext, event: Event) -> Updates:
    """The run's time begins to count."""
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
    """Keep the result, and what the node knows and has used."""
    result = event.output
    return assigned(walk.attempted(context, result)), *_tell(context, notes.attempt_done(context, result))


@bindings.action
def interrupt_attempt(context: NodeEngineContext, event: Event) -> Updates:
    """The attempt has no result, and never will."""
    return _tell(context, notes.attempt_interrupted(context))


# ---------------------------------------------------------------- what follows


@bindings.action
def schedule_retry(context: NodeEngineContext, event: Event) -> Updates:
    """The same node again, later."""
    changes = walk.retried(context)
    return assigned(changes), schedule_wait(_after(context, changes), event)


@bindings.action
def schedule_wait(context: NodeEngineContext, event: Event) -> Updates:
    """Say how long the wait is."""
    return _tell(context, notes.retry_scheduled(context, planned_delay_ms(context)))


@bindings.action
def take_way(context: NodeEngineContext, event: Event) -> Updates:
    """Set the node that the decision leads to, on or back."""
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
    """Remember why; the first reason stands. Whatever a reason is, it stops the run."""
    if context.stop_reason is not None:
        return None
    return assign(stop_reason=str(event.data.get("reason") or REQUESTED))


@bindings.action
def take_verdict(context: NodeEngineContext, event: Event) -> Updates:
    """`should_stop` says why."""
    return assign(stop_reason=event.output["reason"] or REQUESTED)


@bindings.action
def stop_by_budget(context: NodeEngineContext, event: Event) -> Updates:
    """Name the budget that is used up."""
    return assign(stop_reason=walk.spent_budget(context, event.at_ms))


@bindings.action
def stop_out_of_time(context: NodeEngineContext, event: Event) -> Updates:
    """The budget of time ran out in the middle of an attempt."""
    return assign(stop_reason=OUT_OF_TIME)


# ---------------------------------------------------------------- the ends


@bindings.action
def fail_input(context: NodeEngineContext, event: Event) -> Updates:
    """The run was not given what it cannot begin without."""
    return _failed("missing_input", notes.input_failure(context))


@bindings.action
def fail_node(context: NodeEngineContext, event: Event) -> Updates:
    """The node failed, and nothing is left to try."""
    return _failed("node_failed", notes.node_failure(context))


@bindings.action
def fail_backtracking(context: NodeEngineContext, event: Event) -> Updates:
    """The walk has gone back as often as it may."""
    return _failed("backtrack_limit", notes.backtracking_failure(context))


@bindings.action
def fail_undecidable(context: NodeEngineContext, event: Event) -> Updates:
    """Nothing follows from the result (C-60)."""
    return _failed("undecidable_result", notes.undecidable(context))


@bindings.action
def fail_call(context: NodeEngineContext, event: Event, *, reason: FailureReason) -> Updates:
    """A call to the world failed; what the attempt did is in the journal, and in the output (C-64)."""
    return _failed(reason, notes.call_failure(context, event.error, reason))


@bindings.action
def log_persist_failure(context: NodeEngineContext, event: Event) -> Updates:
    """The run ends anyway; the attempt without a result is in the journal alone."""
    error = notes.call_failure(context, event.error, "persist_failed")
    return log(f"on_persist failed: {error.message}", "error", **notes.log_fields(context))


@bindings.action
def end_run(context: NodeEngineContext, event: Event, *, outcome: Ending) -> Updates:
    """Say how the run ended."""
    reason = context.stop_reason if outcome == "stopped" else context.reason
    changes = {"outcome": outcome, "reason": reason}
    return assigned(changes), *_tell(context, notes.run_ended(_after(context, changes)))


def _failed(reason: FailureReason, error: ErrorContext) -> Updates:
    return assign(reason=reason, error=error)
