"""The orchestrator's actions: pure functions that return updates and effects as data, by the names of C-07.

This module has the actions that start, decide and end; `recording` those that record an agent's run, `failure_actions`
those for errors. Log texts are S3-050's. Events for observers are emitted (C-28): AGENT_*, ARBITER_*, SESSION_CLEANUP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, append, assign, emit, log
from rawko.interpreter.data.values import Record, thaw
from rawko.machines.agent_result import Outcome
from rawko.machines.orchestrator.arbiter.decision import ArbiterDecision
from rawko.machines.orchestrator.context import EarlierTask, UserMessage, fresh_run
from rawko.machines.orchestrator.conversation import how_to_start
from rawko.machines.orchestrator.guards import current_step, output_of
from rawko.machines.orchestrator.recording import spend
from rawko.vocabulary.plan import Plan, PlanPatch, StepUpdate, merge_plan

MAX_ITERATIONS_SUMMARY = "Max iterations reached"

bindings = Bindings()


# ---------------------------------------------------------------- starting


@bindings.action
def start_task(context: Record, event: Event) -> Updates:
    """Take the task; the fields of an earlier task go back to their defaults (S3-030, C-37)."""
    return assign(**fresh_run(), task=event.task, started_at=event.at_ms)


@bindings.action
def log_task_start(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Starting task: {context.task}")


@bindings.action
def follow_up(context: Record, event: Event) -> Updates:
    """Take over from an earlier run: its last agent's conversation, the changes since, and for the same task its plan
    and history too. The event carries all of it.
    """
    earlier = EarlierTask(
        run=event.run,
        task=event.earlier_task,
        outcome=event.outcome,
        summary=event.summary or "",
        changes=thaw(event.data.get("changes")),
    ).to_json()
    return (
        assign(
            earlier=earlier,
            carried_agent=event.agent or "",
            messages=thaw(event.messages or ()),
            history=thaw(event.history or ()),
            plan=thaw(event.plan),
        ),
        emit("RUN_CONTINUED", run=event.run, task=event.task),
    )


# ---------------------------------------------------------------- decisions


@bindings.action
def assign_decision(context: Record, event: Event) -> Updates:
    """Record the arbiter's decision."""
    return _decided(context, event, decision_in(output_of(event)))


@bindings.action
def assign_selected_agent(context: Record, event: Event) -> Updates:
    """Record the decision; the agent that it names runs next (S3-031, C-19)."""
    decision = decision_in(output_of(event))
    return _decided(context, event, decision), _runs_next(context, str(decision.mode))


@bindings.action
def assign_limit(context: Record, event: Event) -> Updates:
    """End the task at the limit: the decision is COMPLETE as in S3-036, the outcome is `limit` (C-04)."""
    decision = ArbiterDecision(type="COMPLETE", summary=MAX_ITERATIONS_SUMMARY)
    return _decided(context, event, decision), assign(outcome="limit")


@bindings.action
def assign_forced_agent(context: Record, event: Event) -> Updates:
    """Record a person's choice; the named agent runs next (C-28)."""
    return _forced(context, event, event.agent_name)


@bindings.action
def request_forced_agent(context: Record, event: Event) -> Updates:
    """Note the agent that a person chose, until the running agent has stopped (C-28)."""
    return assign(forced_agent=event.agent_name)


@bindings.action
def take_forced_agent(context: Record, event: Event) -> Updates:
    """Let the agent run next that `request_forced_agent` noted."""
    return _forced(context, event, context.forced_agent), assign(forced_agent="")


@bindings.action
def record_user_message(context: Record, event: Event) -> Updates:
    """Record a person's message to the arbiter; the arbiter's next question includes it (S3-024)."""
    said = UserMessage(
        text=event.content,
        who=str(event.data.get("who") or ""),
        at_ms=event.at_ms,
        iteration=context.iteration_count,
    )
    return append("user_messages", said.to_json()), emit("USER_MESSAGE", text=said.text, who=said.who)


@bindings.action
def skip_step(context: Record, event: Event) -> Updates:
    """Mark the current plan step as `skipped`; the next unfinished step becomes current (C-28)."""
    step = current_step(context)
    if step is None:
        return None
    patch = PlanPatch(step_updates=(StepUpdate(index=step["index"], status="skipped"),))
    return assign(plan=merge_plan(Plan.model_validate(thaw(context.plan)), patch).to_json())


def decision_in(output: Mapping[str, Any]) -> ArbiterDecision:
    """The decision in the output of an arbiter's actor."""
    return ArbiterDecision(
        type=output["type"],
        mode=output.get("mode"),
        reason=output.get("reason") or "",
        summary=output.get("summary"),
    )


def _decided(context: Record, event: Event, decision: ArbiterDecision) -> Updates:
    data = decision.to_json()
    return assign(last_arbiter_decision=data), spend(context, event), emit("ARBITER_DECISION", decision=data)


def _runs_next(context: Record, name: str) -> Updates:
    return assign(current_agent=context.agents[name], current_mode=name), emit("AGENT_SELECTED", agent=name)


def _forced(context: Record, event: Event, name: str) -> Updates:
    decision = ArbiterDecision(type="SELECT_MODE", mode=name, reason="Forced by the user")
    return _decided(context, event, decision), _runs_next(context, name)


# ---------------------------------------------------------------- an agent runs


@bindings.action
def start_execution(context: Record, event: Event) -> Updates:
    """Count the run, and note its start time and where its conversation begins (S3-032, C-31, C-35)."""
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
    """Show the agent's messages as they arrive; only those of the role assistant (S3-051)."""
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


# ---------------------------------------------------------------- bounds


@bindings.action
def run_out(context: Record, event: Event, *, where: str) -> Updates:
    """Report that the budget is used up; the arbiter is asked the question again when there is a larger one."""
    text = str(event.error.get("message", ""))
    return (
        assign(stopped_in=where),
        log(f"[rawko] {text}", level="warning"),
        emit("OUT_OF_BUDGET", kind="budget", text=text, agent="arbiter"),
    )


@bindings.action
def report_rate_wait(context: Record, event: Event) -> Updates:
    """Report that a call waits for the run's rate limit (AL-070); the context does not change."""
    return emit("RATE_WAIT", what=event.what, limit=event.limit, wait_ms=event.wait_ms)


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
    """Set the outcome of the task, unless it is set already (C-04)."""
    return assign(outcome=outcome) if context.outcome is None else None


@bindings.action
def log_completion(context: Record, event: Event) -> Updates:
    """Log "completed" only where the outcome is success (C-04)."""
    if context.outcome == "success":
        return log(f"[rawko] Task completed in {context.iteration_count} iterations")
    if any(not one["held"] for one in context.evidence):
        return log("[rawko] Task stopped without the evidence that is demanded", level="warning")
    return log(f"[rawko] Task stopped at its limit of {context.max_iterations} iterations", level="warning")


@bindings.action
def log_failure(context: Record, event: Event) -> Updates:
    return log(f"[rawko] Task failed after {context.total_failures} failures", level="error")


@bindings.action
def log_cancellation(context: Record, event: Event) -> Updates:
    return log("[rawko] Task cancelled")


@bindings.action
def cleanup_session(context: Record, event: Event) -> Updates:
    """Emit the event on which the driver of the run (`rawko.app.run.driving`) closes the session: provider and tools.
    It waits for that, with a deadline, before it reports the end of the run (S3-054, C-30)."""
    return emit("SESSION_CLEANUP", session_id=context.session_id)
