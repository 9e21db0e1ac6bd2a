"""Records an agent's run: conversation, history entry, plan, tokens, and the log line about its end.

Pure actions, as those of `actions`. Each transition has exactly one action that adds the tokens of its event to
`usage`: the one that takes the decision, counts the failure or records the execution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Assign, Updates, append, assign, emit, log
from rawko.interpreter.data.values import Record, thaw
from rawko.machines.orchestrator.context import ExecutionEntry, ExecutionResult
from rawko.machines.orchestrator.guards import current_step, merged_plan, output_of
from rawko.vocabulary.plan import Plan
from rawko.vocabulary.usage import Usage

bindings = Bindings()


@bindings.action
def append_messages(context: Record, event: Event) -> Updates:
    """Append the run's new messages; a compacted conversation begins anew with them (S3-033, C-35)."""
    left = result_of(event)
    begins = assign(conversation_start=len(context.messages)) if left.get("is_compacted") else None
    added = tuple(
        append(
            "messages",
            {"agent": context.current_mode, "iteration": context.iteration_count, "message": message},
        )
        for message in left.get("messages") or ()
    )
    return begins, added


@bindings.action
def record_execution(context: Record, event: Event) -> Updates:
    """Add the run to the history: success, or limit (S3-052, C-31, C-33, C-34).

    The chart must list this action before `update_plan`, because it compares the plan with the plan's updates.
    """
    is_limit = output_of(event).get("outcome") == "limit"
    return _record(context, event, "limit" if is_limit else "success"), spend(context, event)


@bindings.action
def update_plan(context: Record, event: Event) -> Updates:
    """Apply the agent's plan updates, and note the agent at the steps it worked on; the guard `plan_updates_fit` has
    checked that they fit (S3-012, C-36)."""
    plan = merged_plan(context, event)
    if plan is None:
        return None
    return assign(plan=_credited(context, plan, _steps_completed(context, event)).to_json())


@bindings.action
def reset_failures(context: Record, event: Event) -> Updates:
    """Reset the failures in a row after a success (S3-033, C-37)."""
    return assign(consecutive_failures=0, unknown_error_streak=0, last_error=None)


@bindings.action
def clear_error(context: Record, event: Event) -> Updates:
    """Clear the last error after a run that reached its limit; no counter changes (C-33, C-37)."""
    return assign(last_error=None)


@bindings.action
def record_failure(context: Record, event: Event) -> Updates:
    """Add the failed run to the history, with its summary and usage (S3-053, C-15, C-31)."""
    is_timeout = context.last_error is not None and context.last_error.category == "timeout"
    plan = None if context.plan is None else _credited(context, Plan.model_validate(thaw(context.plan)), ())
    return (
        _record(context, event, "timeout" if is_timeout else "failure", error=context.last_error),
        None if plan is None else assign(plan=plan.to_json()),
    )


@bindings.action
def record_cancelled(context: Record, event: Event) -> Updates:
    """Add the cancelled run to the history (C-32)."""
    return _record(context, event, "cancelled"), spend(context, event)


@bindings.action
def log_agent_complete(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Agent '{context.current_mode}' completed")


@bindings.action
def log_agent_limit(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Agent '{context.current_mode}' stopped at its limit", level="warning")


@bindings.action
def log_agent_error(context: Record, event: Event) -> Updates:
    message = context.last_error.message if context.last_error is not None else ""
    return log(f"[rawko] Agent '{context.current_mode}' error: {message}", level="error")


def result_of(event: Event) -> Mapping[str, Any]:
    """The output of an ended actor, or the fields of its error."""
    for name in ("output", "error"):
        found = event.data.get(name)
        if isinstance(found, Mapping):
            return found
    return {}


def _record(context: Record, event: Event, result: ExecutionResult, *, error: Any = None) -> Updates:
    left = result_of(event)
    step = current_step(context)
    started = context.current_started_at
    summary = left.get("summary")
    entry = ExecutionEntry(
        agent=context.current_mode,
        iteration=context.iteration_count,
        started_at=event.at_ms if started is None else started,
        completed_at=event.at_ms,
        result=result,
        output=left.get("output") if summary is None and isinstance(left.get("output"), str) else summary,
        error=None if error is None else thaw(error),
        usage=usage_in(left),
        plan_step=None if step is None else step["index"],
        steps_completed=_steps_completed(context, event) if result in ("success", "limit") else (),
        files_changed=tuple(left.get("files_changed") or ()),
        changes=tuple(thaw(left.get("changes") or ())),
        tree_before=left.get("tree_before"),
        tree_after=left.get("tree_after"),
    ).to_json()
    name = "AGENT_COMPLETE" if error is None else "AGENT_ERROR"
    return append("history", entry), emit(name, agent=context.current_mode, result=entry)


def _steps_completed(context: Record, event: Event) -> tuple[int, ...]:
    after = merged_plan(context, event)
    before = {step.index for step in context.plan.steps if step.status == "complete"} if context.plan else set()
    if after is None:
        return ()
    return tuple(step.index for step in after.steps if step.status == "complete" and step.index not in before)


def _credited(context: Record, plan: Plan, completed: tuple[int, ...]) -> Plan:
    """The plan with the agent's name at the step that its run began with and at those that it completed, where no agent
    is noted yet (S3-012)."""
    step = current_step(context)
    worked_on = {*completed, *(() if step is None else (step["index"],))}
    steps = tuple(
        one.model_copy(update={"agent_used": context.current_mode})
        if one.index in worked_on and one.agent_used is None and context.current_mode
        else one
        for one in plan.steps
    )
    return plan.model_copy(update={"steps": steps})


def usage_in(left: Mapping[str, Any]) -> Usage:
    given = left.get("usage") or {}
    return Usage(**{name: given.get(name, 0) for name in Usage.model_fields})


def spend(context: Record, event: Event) -> Assign:
    total = Usage.model_validate(thaw(context.usage)) + usage_in(result_of(event))
    return assign(usage=total.to_json())
