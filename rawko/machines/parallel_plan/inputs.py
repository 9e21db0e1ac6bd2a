"""The inputs of planner, lanes, adoptions and checks, and the machine's report. Pure."""

from __future__ import annotations

from typing import Any

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.values import thaw
from rawko.machines.parallel_plan.context import ParallelPlanContext
from rawko.machines.parallel_plan.steps import AGAIN

bindings = Bindings()
bindings.add("context", "ParallelPlanContext", ParallelPlanContext)


@bindings.input
def planner_input(context: ParallelPlanContext, event: Event) -> Any:
    """The input of the planner: the task."""
    values = {"task": context.prompt}
    return {
        "agent": context.parameters.planner,
        "template": "parallel_plan/plan",
        "values": values,
        "seed": context.seed,
    }


@bindings.input
def wave(context: ParallelPlanContext, event: Event) -> Any:
    """The steps that the current wave runs, as `{id, tries}`."""
    complete = {step.id for step in context.steps if step.status == "complete"}
    return [
        {"id": step.id, "tries": step.tries}
        for step in context.steps
        if step.status == "pending" and step.tries and set(step.needs) <= complete
    ]


@bindings.input
def lane_input(context: ParallelPlanContext, event: Event, *, item: Any) -> Any:
    """The input of one lane: its step, the whole task, and the result of the step's first try."""
    step = next(one for one in context.steps if one.id == item["id"])
    return {
        "lane": step.id if step.tries == 1 else f"{step.id}{AGAIN}",
        "agent": step.agent or context.parameters.worker,
        "task": "\n\n".join(_told(context, step)),
        "must_succeed": True,
    }


def _told(context: ParallelPlanContext, step: Any) -> list[str]:
    told = [
        step.task,
        f"This is one step of a larger task, of which others do the other steps at the same time: do this step alone. "
        f"The whole task:\n{context.prompt}",
    ]
    done = [f"- {one.summary}" for one in context.steps if one.id in step.needs and one.summary]
    if done:
        told.append("Done before it, and in the files already:\n" + "\n".join(done))
    if step.why:
        told.append(
            f"An earlier try at this step was not kept: {step.why}\nIts changes are not in the files, which others "
            "have changed since: do the step on the files as they are now."
        )
    if step.diff:
        told.append(f"The changes of the earlier try:\n{step.diff}")
    return told


@bindings.input
def lanes_at_a_time(context: ParallelPlanContext, event: Event) -> int | None:
    """Number of lanes that run side by side."""
    return context.parameters.at_a_time


@bindings.input
def before_input(context: ParallelPlanContext, event: Event) -> Any:
    """The label of the snapshot before an adoption."""
    return {"label": f"before {context.queue[0]['step']}"}


@bindings.input
def adopt_input(context: ParallelPlanContext, event: Event) -> Any:
    """The run of the lane to adopt."""
    return {"run": context.queue[0]["run"]}


@bindings.input
def check_input(context: ParallelPlanContext, event: Event) -> Any:
    """The check as a demand, and the snapshot before it."""
    return {"demands": [{"check": context.parameters.check}], "known": [], "snapshot": thaw(context.after)}


@bindings.input
def back_input(context: ParallelPlanContext, event: Event) -> Any:
    """The snapshots before and after the adoption that is undone."""
    return {"before": thaw(context.before), "after": thaw(context.after)}


@bindings.output
def plan_report(context: ParallelPlanContext, event: Event) -> Any:
    """The result of the plan in the form of an agent's result (C-13), with all steps."""
    adopted = [path for step in context.steps if step.status == "complete" for path in step.files]
    return {
        "outcome": context.outcome,
        "summary": _summary(context),
        "error": context.error,
        "iterations": context.waves,
        "files_changed": list(dict.fromkeys(adopted)),
        "steps": [{name: value for name, value in thaw(step).items() if name != "diff"} for step in context.steps],
    }


def _summary(context: ParallelPlanContext) -> str:
    complete = sum(step.status == "complete" for step in context.steps)
    lines = [f"{complete} of {len(context.steps)} steps are complete"] if len(context.steps) else []
    unchecked = context.queue[0]["step"] if context.after is not None else ""
    return "\n".join([*lines, *(_line(step, is_unchecked=step.id == unchecked) for step in context.steps)])


def _line(step: Any, *, is_unchecked: bool) -> str:
    if is_unchecked:
        return f"· {step.id}: {step.status}, in the files, but not checked (rawko rewind takes it back)"
    if step.status == "complete":
        again = " (second try)" if step.tries > 1 else ""
        first = step.summary.splitlines()[0] if step.summary else "done"
        return f"✓ {step.id}{again}: {first}"
    why = step.why.splitlines()[0] if step.why else "not begun" if not step.tries else "not adopted"
    kept = f" (what it did: rawko diff {step.run})" if step.run and step.status != "complete" else ""
    return f"{'·' if step.status in ('pending', 'skipped') else '✗'} {step.id}: {step.status}, {why}{kept}"
