"""Guards of the parallel plan: pure conditions on context and event, one function per name in the chart."""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.values import thaw
from rawko.machines.parallel_plan.context import ParallelPlanContext
from rawko.machines.parallel_plan.steps import is_ready, planned

bindings = Bindings()


@bindings.guard
def has_plan(context: ParallelPlanContext, event: Event) -> bool:
    """The parameters have a plan that a person has written."""
    return len(context.parameters.steps) > 0


@bindings.guard
def is_cancelled(context: ParallelPlanContext, event: Event) -> bool:
    """The planner was cancelled."""
    return bool(event.output["outcome"] == "cancelled")


@bindings.guard
def wrote_plan(context: ParallelPlanContext, event: Event) -> bool:
    """The planner has ended with a usable plan."""
    if event.output["outcome"] != "success":
        return False
    try:
        planned(thaw(event.output["plan_updates"]))
    except ValueError:
        return False
    return True


@bindings.guard
def has_ready_steps(context: ParallelPlanContext, event: Event) -> bool:
    """At least one step is ready."""
    return any(is_ready(step, context.steps) for step in context.steps)


@bindings.guard
def is_complete(context: ParallelPlanContext, event: Event) -> bool:
    """All steps are complete."""
    return all(step.status == "complete" for step in context.steps)


@bindings.guard
def has_queue(context: ParallelPlanContext, event: Event) -> bool:
    """A lane's changes are still to be adopted."""
    return len(context.queue) > 0


@bindings.guard
def was_adopted(context: ParallelPlanContext, event: Event) -> bool:
    """The lane's changes were merged into the files."""
    return bool(event.output["is_adopted"])


@bindings.guard
def demands_check(context: ParallelPlanContext, event: Event) -> bool:
    """The parameters have a command that must pass after each adoption."""
    return context.parameters.check is not None


@bindings.guard
def check_passed(context: ParallelPlanContext, event: Event) -> bool:
    """The command has passed."""
    return all(one["held"] for one in event.output["evidence"])
