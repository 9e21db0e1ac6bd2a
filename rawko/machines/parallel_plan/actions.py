"""Actions of the parallel plan: pure changes of the context, one function per name in the chart."""

from __future__ import annotations

from typing import Any, Final

from rawko.cutting import cut
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.updates import Updates, assign
from rawko.interpreter.data.values import thaw
from rawko.machines.parallel_plan.context import Outcome, ParallelPlanContext
from rawko.machines.parallel_plan.steps import is_ready, planned

bindings = Bindings()

MAX_SUMMARY_CHARS: Final = 4_000
MAX_OUTPUT_CHARS: Final = 4_000


@bindings.action
def take_given_plan(context: ParallelPlanContext, event: Event) -> Updates:
    """Take the plan from the parameters, where a person has written it."""
    return assign(steps=[thaw(step) for step in context.parameters.steps])


@bindings.action
def take_plan(context: ParallelPlanContext, event: Event) -> Updates:
    """Take the plan that the planner has written."""
    return assign(steps=[step.to_json() for step in planned(thaw(event.output["plan_updates"]))])


@bindings.action
def refuse_plan(context: ParallelPlanContext, event: Event) -> Updates:
    """Record why the planner's result has no usable plan."""
    output, message = event.output, "the planner has ended without a plan"
    if output["outcome"] == "success":
        try:
            planned(thaw(output["plan_updates"]))
        except ValueError as error:
            message = str(error)
    else:
        message = f"the planner has ended with {output['outcome']!r}: {output['summary'] or 'no words'}"
    return assign(error={"category": "unknown", "message": message, "attempted": "a plan"})


@bindings.action
def keep_failure(context: ParallelPlanContext, event: Event) -> Updates:
    """Record the error of the actor that failed."""
    error = thaw(event.error)
    kept = {key: error[key] for key in ("category", "code", "message", "attempted") if error.get(key) is not None}
    return assign(error=kept)


@bindings.action
def begin_wave(context: ParallelPlanContext, event: Event) -> Updates:
    """Count one more try of every step that is ready."""
    steps = [
        {**step, "tries": step["tries"] + 1} if is_ready(step, context.steps) else step for step in _steps(context)
    ]
    return assign(steps=steps, waves=context.waves + 1)


@bindings.action
def keep_lanes(context: ParallelPlanContext, event: Event) -> Updates:
    """Record the results of the wave's lanes; successful lanes are queued for adoption, in order."""
    steps, queue = {step["id"]: step for step in _steps(context)}, []
    for lane in thaw(event.output):
        told = lane["output"] if lane["status"] == "done" else lane["error"]
        step = steps[lane["item"]["id"]]
        step.update(
            run=str(told.get("run") or ""),
            summary=cut(str(told.get("summary") or ""), MAX_SUMMARY_CHARS),
            files=tuple(told.get("files_changed") or ()),
            cost_usd=told.get("cost_usd"),
        )
        if lane["status"] == "done":
            queue.append({"step": step["id"], "run": step["run"]})
        else:
            step.update(status="failed", why=str(told.get("message") or "its lane has failed"))
    return assign(steps=list(steps.values()), queue=queue)


@bindings.action
def keep_before(context: ParallelPlanContext, event: Event) -> Updates:
    """Record the snapshot before the adoption."""
    return assign(before=event.output["snapshot"])


@bindings.action
def keep_adopted(context: ParallelPlanContext, event: Event) -> Updates:
    """Record the snapshot after the adoption, and the lane's diff."""
    return assign(after=event.output["snapshot"], diff=event.output["diff"])


@bindings.action
def complete_step(context: ParallelPlanContext, event: Event) -> Updates:
    """Mark the step as complete, and go on to the next lane in the queue."""
    return _settled(context, status="complete", why="", diff=""), forget_adoption(context, event)


@bindings.action
def forget_adoption(context: ParallelPlanContext, event: Event) -> Updates:
    """Clear the fields of the adoption that has ended."""
    return assign(before=None, after=None, diff="")


@bindings.action
def refuse_conflict(context: ParallelPlanContext, event: Event) -> Updates:
    """Reject the lane: its changes conflict with the current files."""
    paths = ", ".join(event.output["conflicts"])
    why = f"its changes are in conflict with the files as they are now: {paths}"
    return _not_kept(context, why, event.output["diff"]), forget_adoption(context, event)


@bindings.action
def refuse_check(context: ParallelPlanContext, event: Event) -> Updates:
    """Reject the lane: the check failed with its changes in the files."""
    failed = next(one for one in event.output["evidence"] if not one["held"])
    output = cut(str(failed.get("output") or "")[-MAX_OUTPUT_CHARS:], MAX_OUTPUT_CHARS)
    why = f"the check has failed with its changes: {failed['found']}"
    return _not_kept(context, f"{why}\n{output}".strip(), context.diff)


@bindings.action
def skip_rest(context: ParallelPlanContext, event: Event) -> Updates:
    """Skip the pending steps, which need steps that failed, and record the plan's error."""
    by_id = {step["id"]: step for step in _steps(context)}
    for step in by_id.values():
        if step["status"] == "pending":
            lacking = ", ".join(one for one in step["needs"] if by_id[one]["status"] != "complete")
            step.update(status="skipped", why=f"it needs {lacking}")
    failed = [step for step in by_id.values() if step["status"] == "failed"]
    told = "; ".join(f"{step['id']}: {step['why'].splitlines()[0]}" for step in failed[:3])
    message = f"{len(failed)} of {len(by_id)} steps failed: {told}{'; ...' if len(failed) > 3 else ''}"
    error = {"category": "unknown", "message": message, "attempted": "the plan"}
    return assign(steps=list(by_id.values()), error=error)


@bindings.action
def conclude(context: ParallelPlanContext, event: Event, *, outcome: Outcome) -> Updates:
    """Set the outcome of the plan."""
    return assign(outcome=outcome)


def _not_kept(context: ParallelPlanContext, why: str, diff: str) -> Updates:
    """Settle a step whose lane was rejected: it gets another lane, or has failed."""
    step = next(one for one in context.steps if one.id == context.queue[0]["step"])
    status = "pending" if step.tries < context.parameters.tries else "failed"
    return _settled(context, status=status, why=why, diff=diff if status == "pending" else "")


def _settled(context: ParallelPlanContext, **changes: Any) -> Updates:
    id = context.queue[0]["step"]
    steps = [{**step, **changes} if step["id"] == id else step for step in _steps(context)]
    return assign(steps=steps, queue=context.queue[1:])


def _steps(context: ParallelPlanContext) -> list[dict[str, Any]]:
    return [thaw(step) for step in context.steps]
