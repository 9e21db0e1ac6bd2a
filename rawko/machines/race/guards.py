"""Guards of the race: pure conditions on context and event, one function per name in the chart."""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.machines.race.context import RaceContext

bindings = Bindings()


@bindings.guard
def takes_first(context: RaceContext, event: Event) -> bool:
    """The first lane that succeeds wins, without a judge."""
    return context.parameters.first and not context.parameters.judge


@bindings.guard
def needs_judge(context: RaceContext, event: Event) -> bool:
    """More than one lane has succeeded, and the parameters ask for a judge."""
    return context.parameters.judge and sum(one["status"] == "done" for one in event.output) > 1


@bindings.guard
def somebody_succeeded(context: RaceContext, event: Event) -> bool:
    """At least one lane has succeeded."""
    return any(one["status"] == "done" for one in event.output)
