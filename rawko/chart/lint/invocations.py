"""Rules about invocations: whose failure nothing handles, and which no event can stop."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.chart.definition import Chart, SendAction, Transition, flat
from rawko.chart.errors import Diagnostic
from rawko.chart.lint.descriptors import GENERATED, descriptors
from rawko.chart.lint.rules import finding


def unhandled_failures(chart: Chart) -> Iterator[Diagnostic]:
    """Report invocations whose failure no transition handles, in their state or an ancestor."""
    handled = {state.name: {event for each in state.transitions for event in each.events} for state in chart}
    for state in chart:
        around = (state.name, *chart.ancestors(state.name))
        for invoke in state.invoke:
            matching = set(descriptors(f"error.invoke.{invoke.id}"))
            if not any(matching & handled[name] for name in around):
                message = f"nothing handles the failure of invoke {invoke.id!r}; add 'on error' to it"
                yield finding("invoke-without-on-error", invoke.position, message)


def uncancellable_invocations(chart: Chart) -> Iterator[Diagnostic]:
    """Report invocations that neither an event nor a time limit stops, in a chart that an event ends elsewhere.

    A chart none of whose events leads to an end may be one that its parent stops; it is not asked.
    """
    ends = {name for name in chart[chart.root].children if chart[name].kind == "final"}
    if not any(_is_from_outside(each) and not ends.isdisjoint(each.targets) for each in chart.transitions):
        return
    leaving = {state.name: any(_leads_out(each) for each in state.transitions) for state in chart}
    for state in chart:
        around = (state.name, *chart.ancestors(state.name))
        if not state.invoke or any(leaving[name] for name in around):
            continue
        told = {
            action.to
            for name in around
            for transition in chart[name].transitions
            if _is_from_outside(transition)
            for action in flat(transition.actions)
            if isinstance(action, SendAction)
        }
        for invoke in state.invoke:
            if invoke.timeout is None and invoke.id not in told:
                message = (
                    f"nothing stops invoke {invoke.id!r}: give it a timeout, or state {state.name!r} or one around "
                    "it a transition on the event that ends the machine elsewhere"
                )
                yield finding("invoke-without-cancel", invoke.position, message)


def _leads_out(transition: Transition) -> bool:
    return bool(transition.targets) and (transition.origin == "after" or _is_from_outside(transition))


def _is_from_outside(transition: Transition) -> bool:
    return transition.origin == "transitions" and any(not event.startswith(GENERATED) for event in transition.events)
