"""The inputs of the orchestrator's actors and the machine's own output, as bound functions.

Pure: functions of (context, event). The arbiter's own inputs are built in `arbiter.inputs`.
"""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.values import Record
from rawko.machines.orchestrator.arbiter.history import build_execution_history
from rawko.machines.orchestrator.arbiter.inputs import (
    construct_evaluate_progress_input,
    construct_select_agent_input,
)
from rawko.machines.orchestrator.conversation import how_to_start, new_changes, new_task, tail, task_text
from rawko.machines.orchestrator.delays import retry_delay

bindings = Bindings()


@bindings.input
def select_agent_input(context: Record, event: Event) -> dict[str, Any]:
    """The input of `arbiter_select_agent`. S6-080."""
    return construct_select_agent_input(context, now_ms=event.at_ms).to_json() | _fallback_input(context)


@bindings.input
def evaluate_progress_input(context: Record, event: Event) -> dict[str, Any]:
    """The input of `arbiter_evaluate`. S6-080."""
    return construct_evaluate_progress_input(context, now_ms=event.at_ms).to_json() | _fallback_input(context)


def _fallback_input(context: Record) -> dict[str, Any]:
    """`{instead: {model, provider}}` of the fallback; {} while the arbiter's own model is asked."""
    if not context.is_fallen_back:
        return {}
    return {"instead": {"model": context.fallback.model, "provider": context.fallback.provider}}


@bindings.input
def check_wait_input(context: Record, event: Event) -> dict[str, Any]:
    """The length of the coming wait in milliseconds."""
    return {"wait_ms": retry_delay(context, event)}


@bindings.input
def execute_agent_input(context: Record, event: Event) -> dict[str, Any]:
    """The input of an agent's run: task, conversation, and what earlier agents did.

    Computed after `start_execution`. `agent` is an AgentDescription, or None where none has been chosen. `start` is
    "fresh", "resume" or "inherit" (see `conversation`). `handover` is the history for a fresh conversation, as
    ExecutionSummary data, oldest first.

    Source: S3-032, S3-063, C-35.
    """
    agent = context.current_agent
    start = how_to_start(context, agent)
    decision = context.last_arbiter_decision
    return {
        "agent": agent,
        "task": task_text(context),
        "new_task": new_task(context),
        "changes": new_changes(context),
        "plan": context.plan,
        "iteration": context.iteration_count,
        "start": start,
        "messages": [] if start == "fresh" else tail(context),
        "handover": _handover(context, event) if start == "fresh" else [],
        "reason": "" if decision is None else decision.reason,
        "last_error": context.last_error,
        "seed": context.seed + context.iteration_count,
    }


def _handover(context: Record, event: Event) -> list[dict[str, Any]]:
    if context.current_agent is None or not len(context.history):
        return []
    options = context.current_agent.context
    if options.carry_messages == "none":
        return []
    summaries = build_execution_history(
        context.history,
        max_entries=options.history_select,
        now_ms=event.at_ms,
        summary_chars=options.summary_chars.evaluate,
    )
    return [summary.to_json() for summary in summaries]


@bindings.output
def run_output(context: Record, event: Event) -> dict[str, Any]:
    """The outcome and everything that a report needs.

    Shape: {outcome, summary, iterations, error, usage, plan, history, files_changed, task, started_at,
    completed_at}; times in epoch milliseconds; `error` is the last ErrorContext where the outcome is failure, else
    None; `files_changed` is sorted.

    Source: C-04, C-48.
    """
    return {
        "outcome": context.outcome,
        "summary": _summary(context),
        "iterations": context.iteration_count,
        "error": context.last_error if context.outcome == "failure" else None,
        "usage": context.usage,
        "plan": context.plan,
        "history": context.history,
        "files_changed": sorted({path for entry in context.history for path in entry.files_changed}),
        "task": context.task,
        "started_at": context.started_at,
        "completed_at": event.at_ms,
        **({"evidence": context.evidence} if len(context.evidence) else {}),
    }


def _summary(context: Record) -> str:
    decision = context.last_arbiter_decision
    match context.outcome:
        case "success" | "limit":
            return (decision.summary or decision.reason) if decision is not None else ""
        case "failure":
            if decision is not None and decision.type == "ABORT":
                return str(decision.reason)
            return str(context.last_error.message) if context.last_error is not None else ""
        case _:
            return "Task cancelled"
