"""Actions for errors of agents and of the arbiter: categorise, count, report; used for every failure (C-24).

Pure, as the actions in `actions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign, emit, log
from rawko.interpreter.data.values import Record
from rawko.machines.orchestrator.arbiter.decision import why_refused
from rawko.machines.orchestrator.arbiter.errors import ARBITER, build_error_context
from rawko.machines.orchestrator.guards import current_step, merged_plan, output_of
from rawko.machines.orchestrator.recording import spend
from rawko.vocabulary.plan import PlanError

bindings = Bindings()


@bindings.action
def count_failure(context: Record, event: Event, *, by: str = ARBITER) -> Updates:
    """Categorise the error and count it; every failure passes this function or one of the two below (C-24).

    Args:
        by: "agent" where the running agent failed; the arbiter otherwise.
    """
    return _count(context, event, _reported(event), by)


@bindings.action
def fall_back(context: Record, event: Event) -> Updates:
    """Switch the arbiter to the fallback model for the rest of the task, with a new count of failures."""
    code = event.error.get("refused_wait") or event.error.get("code")
    own, other = event.error.get("model") or "the model", context.fallback.model
    where = f" of {context.fallback.provider}" if context.fallback.provider else ""
    return (
        assign(is_fallen_back=True, consecutive_failures=0),
        log(f"[rawko] Arbiter: {own}: {code}; {other}{where} is asked from here on", "warning"),
        emit("MODEL_FALLBACK", agent=ARBITER, model=other, instead_of=own, code=code),
    )


@bindings.action
def count_refused_plan(context: Record, event: Event) -> Updates:
    """Count the agent's run as failed: its plan updates do not fit the plan (C-36)."""
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
    """Count a failure of the arbiter: its decision cannot be followed (S3-060, C-02)."""
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
        spend(context, event),
        () if by == "agent" else emit("ARBITER_ERROR", error=error),
        emit("AGENT_SELECTION_FAILED", error=error) if event.name.endswith(".invoke.select_agent") else (),
    )


def _attempted(context: Record, by: str) -> str:
    if by != "agent":
        return "decide what happens next"
    step = current_step(context)
    return str(context.task if step is None else step["description"])
