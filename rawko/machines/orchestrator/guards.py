"""The orchestrator's guards: pure conditions on context and event, by the names of C-07."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.values import Record, thaw
from rawko.machines.orchestrator.arbiter.decision import REPEATS
from rawko.machines.orchestrator.arbiter.errors import is_recoverable
from rawko.machines.orchestrator.arbiter.errors import needs_fallback as only_fallback_helps
from rawko.vocabulary.errors import falls_back
from rawko.vocabulary.plan import Plan, PlanError, PlanPatch, merge_plan

bindings = Bindings()


def output_of(event: Event) -> Mapping[str, Any]:
    """The output of an ended actor; empty for any other event."""
    output = event.data.get("output")
    return output if isinstance(output, Mapping) else {}


def current_step(context: Record) -> Mapping[str, Any] | None:
    """The current plan step; None without a plan or when all steps are done."""
    plan = context.plan
    if plan is None or plan.current_step_index >= len(plan.steps):
        return None
    step: Mapping[str, Any] = plan.steps[plan.current_step_index]
    return step


def merged_plan(context: Record, event: Event) -> Plan | None:
    """The plan with the agent's updates; the unchanged plan where there are no updates.

    Raises:
        PlanError: The updates do not fit the plan.
        ValueError: The updates are malformed.
    """
    plan = None if context.plan is None else Plan.model_validate(thaw(context.plan))
    updates = output_of(event).get("plan_updates")
    return plan if updates is None else merge_plan(plan, PlanPatch.model_validate(thaw(updates)))


# ---------------------------------------------------------------- what the arbiter decided


def decision_type(event: Event) -> str | None:
    return output_of(event).get("type")


@bindings.guard
def is_complete(context: Record, event: Event) -> bool:
    """The decision is COMPLETE. S3-040."""
    return decision_type(event) == "COMPLETE"


@bindings.guard
def needs_retry(context: Record, event: Event) -> bool:
    """The decision is RETRY. S3-041, C-02."""
    return decision_type(event) == "RETRY"


@bindings.guard
def continues(context: Record, event: Event) -> bool:
    """The decision is CONTINUE. C-01."""
    return decision_type(event) == "CONTINUE"


@bindings.guard
def repeats_agent(context: Record, event: Event) -> bool:
    """The decision repeats the agent: RETRY or CONTINUE, while an agent is being selected (C-02)."""
    return decision_type(event) in REPEATS


@bindings.guard
def selects_agent(context: Record, event: Event) -> bool:
    """The decision is SELECT_MODE. C-01."""
    return decision_type(event) == "SELECT_MODE"


@bindings.guard
def skips(context: Record, event: Event) -> bool:
    """The decision is SKIP. C-28."""
    return decision_type(event) == "SKIP"


@bindings.guard
def aborts(context: Record, event: Event) -> bool:
    """The decision is ABORT. C-28."""
    return decision_type(event) == "ABORT"


@bindings.guard
def has_agent(context: Record, event: Event, *, name: Any) -> bool:
    """An agent of this name exists. S3-045."""
    return isinstance(name, str) and name in context.agents


# ---------------------------------------------------------------- task, limits, errors and plan


@bindings.guard
def has_task(context: Record, event: Event, *, task: Any) -> bool:
    """The task is a text that is not blank."""
    return isinstance(task, str) and bool(task.strip())


@bindings.guard
def has_content(context: Record, event: Event, *, content: Any) -> bool:
    """The message is a text that is not blank."""
    return isinstance(content, str) and bool(content.strip())


@bindings.guard
def max_iterations_reached(context: Record, event: Event) -> bool:
    """All runs that `max_iterations` allows have begun. S3-042."""
    return bool(context.iteration_count >= context.max_iterations)


@bindings.guard
def max_failures_reached(context: Record, event: Event) -> bool:
    """`max_consecutive_failures` failures have happened in a row. S3-043, S6-022."""
    return bool(context.consecutive_failures >= context.max_consecutive_failures)


@bindings.guard
def is_recoverable_error(context: Record, event: Event) -> bool:
    """The last error lets the task continue. S3-044, C-13."""
    return is_recoverable(context.last_error, unknown_streak=context.unknown_error_streak)


@bindings.guard
def is_error_code(context: Record, event: Event, *, code: str) -> bool:
    """The actor failed with this code."""
    return bool(event.error.get("code") == code)


@bindings.guard
def can_fall_back(context: Record, event: Event) -> bool:
    """The fallback model is configured for this failure, and is not itself the model that failed.

    Before the failure that would end the task, the fallback applies at once, without further retries.
    """
    is_last = context.consecutive_failures + 1 >= context.max_consecutive_failures
    failures = context.fallback.after if is_last else context.consecutive_failures
    return not context.is_fallen_back and falls_back(context.fallback, event.error, failures)


@bindings.guard
def stopped_in(context: Record, event: Event, *, state: str) -> bool:
    """The arbiter's call was refused in this state, because the budget was used up."""
    return bool(context.stopped_in == state)


@bindings.guard
def needs_fallback(context: Record, event: Event) -> bool:
    """Only another agent can continue after the last error. C-13."""
    return only_fallback_helps(context.last_error)


@bindings.guard
def has_more_work(context: Record, event: Event) -> bool:
    """The plan is not complete; true without a plan (C-51). For users' charts (A3-004, C-08)."""
    return context.plan is None or not context.plan.is_complete


@bindings.guard
def has_open_step(context: Record, event: Event) -> bool:
    """The plan has a current step, which can be skipped (C-28)."""
    return current_step(context) is not None


@bindings.guard
def has_forced_agent(context: Record, event: Event) -> bool:
    """A person has chosen the agent that runs next (C-28)."""
    return context.forced_agent in context.agents


@bindings.guard
def history_is_not_empty(context: Record, event: Event) -> bool:
    """At least one agent has run. C-41."""
    return len(context.history) > 0


# ---------------------------------------------------------------- how an agent's run ended


@bindings.guard
def reached_limit(context: Record, event: Event) -> bool:
    """The agent stopped at a limit. C-33."""
    return output_of(event).get("outcome") == "limit"


@bindings.guard
def was_cancelled(context: Record, event: Event) -> bool:
    """The agent was cancelled."""
    return output_of(event).get("outcome") == "cancelled"


@bindings.guard
def run_failed(context: Record, event: Event) -> bool:
    """The agent's output says that it failed, although its actor did not report an error (C-13)."""
    return output_of(event).get("outcome") == "failure"


@bindings.guard
def plan_updates_fit(context: Record, event: Event) -> bool:
    """The agent's plan updates fit the plan. C-36."""
    try:
        merged_plan(context, event)
    except (PlanError, ValueError):
        return False
    return True
