"""The orchestrator's actions: pure functions that return updates and effects as data, by the names of C-07.

Log texts are S3-050's. What observers may want to know is emitted (C-28): AGENT_*, ARBITER_*, SESSION_CLEANUP.
Each transition has exactly one action that adds the tokens of its event to `usage`: the one that takes the
decision, counts the failure or records the execution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.events import Event
from rawko.interpreter.updates import Assign, Updates, append, assign, emit, log
from rawko.interpreter.values import Record, thaw
from rawko.machines.orchestrator.arbiter.decision import ArbiterDecision, why_refused
from rawko.machines.orchestrator.arbiter.errors import ARBITER, build_error_context
from rawko.machines.orchestrator.context import ExecutionEntry, ExecutionResult, Outcome, fresh_run
from rawko.machines.orchestrator.conversation import how_to_start
from rawko.machines.orchestrator.guards import current_step, merged_plan, output_of
from rawko.vocabulary.plan import Plan, PlanError, PlanPatch, StepUpdate, merge_plan
from rawko.vocabulary.usage import Usage

MAX_ITERATIONS_SUMMARY = "Max iterations reached"

bindings = Bindings()


# ---------------------------------------------------------------- starting


@bindings.action
def start_task(context: Record, event: Event) -> Updates:
    """Take the task; everything of an earlier one goes back to its default (S3-030, C-37)."""
    return assign(**fresh_run(), task=event.task, started_at=event.at_ms)


@bindings.action
def log_task_start(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Starting task: {context.task}")


# ---------------------------------------------------------------- decisions


@bindings.action
def assign_decision(context: Record, event: Event) -> Updates:
    """Keep what the arbiter decided."""
    return _decided(context, event, decision_in(output_of(event)))


@bindings.action
def assign_selected_agent(context: Record, event: Event) -> Updates:
    """The agent that the decision names runs next (S3-031, C-19)."""
    decision = decision_in(output_of(event))
    return _decided(context, event, decision), _runs_next(context, str(decision.mode))


@bindings.action
def assign_limit(context: Record, event: Event) -> Updates:
    """The cap ends the task: COMPLETE as S3-036 writes it, but the verdict is `limit` (C-04)."""
    decision = ArbiterDecision(type="COMPLETE", summary=MAX_ITERATIONS_SUMMARY)
    return _decided(context, event, decision), assign(outcome="limit")


@bindings.action
def assign_forced_agent(context: Record, event: Event) -> Updates:
    """The agent that a person names runs next (C-28)."""
    return _forced(context, event, event.agent_name)


@bindings.action
def request_forced_agent(context: Record, event: Event) -> Updates:
    """Remember whom a person wants, until the running agent has stopped (C-28)."""
    return assign(forced_agent=event.agent_name)


@bindings.action
def take_forced_agent(context: Record, event: Event) -> Updates:
    """The agent that was asked for runs next."""
    return _forced(context, event, context.forced_agent), assign(forced_agent="")


@bindings.action
def skip_step(context: Record, event: Event) -> Updates:
    """The step at work becomes `skipped`, and the next unfinished one is at work (C-28)."""
    step = current_step(context)
    if step is None:
        return None
    patch = PlanPatch(step_updates=(StepUpdate(index=step["index"], status="skipped"),))
    return assign(plan=merge_plan(Plan.model_validate(thaw(context.plan)), patch).to_json())


def decision_in(output: Mapping[str, Any]) -> ArbiterDecision:
    """The decision among the fields of an arbiter's answer."""
    return ArbiterDecision(
        type=output["type"],
        mode=output.get("mode"),
        reason=output.get("reason") or "",
        summary=output.get("summary"),
    )


def _decided(context: Record, event: Event, decision: ArbiterDecision) -> Updates:
    data = decision.to_json()
    return assign(last_arbiter_decision=data), _spend(context, event), emit("ARBITER_DECISION", decision=data)


def _runs_next(context: Record, name: str) -> Updates:
    return assign(current_agent=context.agents[name], current_mode=name), emit("AGENT_SELECTED", agent=name)


def _forced(context: Record, event: Event, name: str) -> Updates:
    decision = ArbiterDecision(type="SELECT_MODE", mode=name, reason="Forced by the user")
    return _decided(context, event, decision), _runs_next(context, name)


# ---------------------------------------------------------------- an agent runs


@bindings.action
def start_execution(context: Record, event: Event) -> Updates:
    """Count the run and note when and with which conversation it starts (S3-032, C-31, C-35)."""
    is_fresh = how_to_start(context, context.current_agent) == "fresh"
    return assign(
        iteration_count=context.iteration_count + 1,
        current_started_at=event.at_ms,
        conversation_start=len(context.messages) if is_fresh else context.conversation_start,
    )


@bindings.action
def log_agent_start(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Agent '{context.current_mode}' starting (iteration {context.iteration_count})")


@bindings.action
def stream_message(context: Record, event: Event) -> Updates:
    """Show what the agent says, as it says it; only the assistant's words (S3-051)."""
    if event.message.role != "assistant":
        return None
    return emit("AGENT_MESSAGE", agent=context.current_mode, message=event.message)


@bindings.action
def log_tool_call(context: Record, event: Event) -> Updates:
    call = event.tool_call
    return (
        log(f"[rawko] Tool call: {call['name']}"),
        emit("AGENT_TOOL_CALL", agent=context.current_mode, tool_call=call),
    )


# ---------------------------------------------------------------- an agent has run


@bindings.action
def append_messages(context: Record, event: Event) -> Updates:
    """Add the run's new messages to the conversations (S3-033, C-35)."""
    return tuple(
        append(
            "messages",
            {"agent": context.current_mode, "iteration": context.iteration_count, "message": message},
        )
        for message in _result_of(event).get("messages") or ()
    )


@bindings.action
def record_execution(context: Record, event: Event) -> Updates:
    """Add the run to the history: success, or limit (S3-052, C-31, C-33, C-34).

    Stands before `update_plan`, because it compares the plan with its updates.
    """
    is_limit = output_of(event).get("outcome") == "limit"
    return _record(context, event, "limit" if is_limit else "success"), _spend(context, event)


@bindings.action
def update_plan(context: Record, event: Event) -> Updates:
    """Apply the agent's updates; the guard `plan_updates_fit` has let only fitting ones through (C-36)."""
    plan = merged_plan(context, event)
    return None if plan is None else assign(plan=plan.to_json())


@bindings.action
def reset_failures(context: Record, event: Event) -> Updates:
    """A success ends the streak (S3-033, C-37)."""
    return assign(consecutive_failures=0, unknown_error_streak=0, last_error=None)


@bindings.action
def clear_error(context: Record, event: Event) -> Updates:
    """A run that reached its limit changes no counter, but the error before it is over (C-33, C-37)."""
    return assign(last_error=None)


@bindings.action
def record_failure(context: Record, event: Event) -> Updates:
    """Add the failed run to the history, with what it said and cost (S3-053, C-15, C-31)."""
    is_timeout = context.last_error is not None and context.last_error.category == "timeout"
    return _record(context, event, "timeout" if is_timeout else "failure", error=context.last_error)


@bindings.action
def record_cancelled(context: Record, event: Event) -> Updates:
    """Add the cancelled run to the history (C-32)."""
    return _record(context, event, "cancelled"), _spend(context, event)


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


def _result_of(event: Event) -> Mapping[str, Any]:
    """What an ended actor left behind: its output, or the fields that its error carries."""
    for name in ("output", "error"):
        found = event.data.get(name)
        if isinstance(found, Mapping):
            return found
    return {}


def _record(context: Record, event: Event, result: ExecutionResult, *, error: Any = None) -> Updates:
    left = _result_of(event)
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
        usage=_usage_in(left),
        plan_step=None if step is None else step["index"],
        steps_completed=_steps_completed(context, event) if result in ("success", "limit") else (),
        files_changed=tuple(left.get("files_changed") or ()),
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


def _usage_in(left: Mapping[str, Any]) -> Usage:
    given = left.get("usage") or {}
    return Usage(**{name: given.get(name, 0) for name in Usage.model_fields})


def _spend(context: Record, event: Event) -> Assign:
    total = Usage.model_validate(thaw(context.usage)) + _usage_in(_result_of(event))
    return assign(usage=total.to_json())


# ---------------------------------------------------------------- failures


@bindings.action
def count_failure(context: Record, event: Event, *, by: str = ARBITER) -> Updates:
    """Understand the error and count it: every way of failing passes here (C-24).

    Args:
        by: "agent" where the running agent failed; the arbiter otherwise.
    """
    return _count(context, event, _reported(event), by)


@bindings.action
def count_refused_plan(context: Record, event: Event) -> Updates:
    """The agent's plan updates do not fit: its run has failed (C-36)."""
    try:
        merged_plan(context, event)
        message = "the plan updates were refused"
    except PlanError as error:
        message = f"the plan updates were refused: {error}"
    except ValueError as error:
        message = f"the plan updates are malformed: {error}"
    return _count(context, event, {"message": message, "category": "validation_error"}, "agent")


@bindings.action
def count_refused_decision(context: Record, event: Event) -> Updates:
    """The decision cannot be followed: the arbiter has failed (S3-060, C-02)."""
    output = output_of(event)
    message = why_refused(
        str(output.get("type")),
        output.get("mode"),
        agents=context.agents,
        previous_agent=context.current_mode or None,
        has_open_step=current_step(context) is not None,
    )
    return _count(
        context,
        event,
        {"message": message or f"Arbiter's decision cannot be followed: {output.get('type')}",
         "category": "validation_error"},
        ARBITER,
    )  # fmt: skip


def _reported(event: Event) -> Mapping[str, Any]:
    if event.name.startswith("after."):
        return {"message": f"No answer in time ({event.name.split('.')[1]})", "category": "timeout"}
    if isinstance(event.data.get("error"), Mapping):
        error: Mapping[str, Any] = event.data["error"]
        return error
    told = output_of(event)
    if isinstance(told.get("error"), Mapping):
        return dict(told["error"])
    return {"message": told.get("summary") or "The actor failed and said nothing about why"}


def _count(context: Record, event: Event, reported: Mapping[str, Any], by: str) -> Updates:
    step = current_step(context)
    error = build_error_context(
        reported,
        agent=context.current_mode if by == "agent" else ARBITER,
        at_ms=event.at_ms,
        plan_step=None if step is None else step["index"],
        attempted=_attempted(context, by),
    ).to_json()
    is_unknown = error["category"] == "unknown"
    return (
        assign(
            last_error=error,
            consecutive_failures=context.consecutive_failures + 1,
            total_failures=context.total_failures + 1,
            unknown_error_streak=context.unknown_error_streak + 1 if is_unknown else 0,
        ),
        _spend(context, event),
        () if by == "agent" else emit("ARBITER_ERROR", error=error),
        emit("AGENT_SELECTION_FAILED", error=error) if event.name.endswith(".invoke.select_agent") else (),
    )


def _attempted(context: Record, by: str) -> str:
    if by != "agent":
        return "decide what happens next"
    step = current_step(context)
    return str(context.task if step is None else step["description"])


@bindings.action
def log_max_iterations(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Max iterations ({context.max_iterations}) reached", level="warning")


@bindings.action
def log_max_failures(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Max consecutive failures ({context.consecutive_failures}) reached", level="error")


@bindings.action
def log_recovery(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Recovering from error: {context.last_error.message}")


# ---------------------------------------------------------------- the end


@bindings.action
def conclude(context: Record, event: Event, *, outcome: Outcome) -> Updates:
    """Say how the task ended, unless that is said already (C-04)."""
    return assign(outcome=outcome) if context.outcome is None else None


@bindings.action
def log_completion(context: Record, event: Event) -> Updates:
    """Says completed only where the outcome is success (C-04)."""
    if context.outcome == "success":
        return log(f"[rawko] Task completed in {context.iteration_count} iterations")
    return log(f"[rawko] Task stopped at its limit of {context.max_iterations} iterations", level="warning")


@bindings.action
def log_failure(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Task failed after {context.total_failures} failures", level="error")


@bindings.action
def log_cancellation(context: Record, event: Event) -> Updates:
    return log("[rawko] Task cancelled")


@bindings.action
def cleanup_session(context: Record, event: Event) -> Updates:
    """Ask whoever runs the machine to close the session; it awaits that, with a deadline (S3-054, C-30)."""
    return emit("SESSION_CLEANUP", session_id=context.session_id)
