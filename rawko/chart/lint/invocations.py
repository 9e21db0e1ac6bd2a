"""Rules about invocations: ends that may not be handled, and invocations that no event can stop."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.chart.definition import Chart, Invoke, SendAction, State, Transition, flat
from rawko.chart.errors import Diagnostic
from rawko.chart.lint.descriptors import GENERATED, descriptors
from rawko.chart.lint.guards import is_decided
from rawko.chart.lint.rules import finding

CHILD = "child"
"""Tag of the root of a machine that only other machines start and stop."""


def unhandled_failures(chart: Chart) -> Iterator[Diagnostic]:
    """Report invocations whose failure is handled neither in their state nor in an ancestor."""
    handled = {state.name: {event for each in state.transitions for event in each.events} for state in chart}
    for state in chart:
        around = (state.name, *chart.ancestors(state.name))
        for invoke in state.invoke:
            matching = set(descriptors(f"error.invoke.{invoke.id}"))
            if not any(matching & handled[name] for name in around):
                message = f"nothing handles the failure of invoke {invoke.id!r}; add 'on error' to it"
                yield finding("invoke-without-on-error", invoke.position, message)


def uncancellable_invocations(chart: Chart) -> Iterator[Diagnostic]:
    """Report invocations that neither an event nor a time limit stops: all of them, if an event can end the machine in
    other states; otherwise only the first one.

    If no event leads to a final state of the machine, its parent may be meant to stop it: a root with the tag `child`
    is not reported.
    """
    ends = _ends(chart)
    endless = list(_unstopped(chart))
    if any(_is_from_outside(each) and not ends.isdisjoint(each.targets) for each in chart.transitions):
        for invoke in endless:
            message = (
                f"nothing stops invoke {invoke.id!r}: give it a timeout, or state {invoke.state!r} or one around "
                "it a transition on the event that ends the machine elsewhere"
            )
            yield finding("invoke-without-cancel", invoke.position, message)
    elif endless and CHILD not in chart[chart.root].tags:
        more = f" and {len(endless) - 1} more" if len(endless) > 1 else ""
        message = (
            f"no event stops the machine while it waits for {endless[0].id!r}{more}: give its root a transition on an "
            f"event such as CANCEL to an end, or the tag {CHILD!r} if only other machines start and stop it"
        )
        yield finding("no-cancel", endless[0].position, message)


def _ends(chart: Chart) -> set[str]:
    return {name for name in chart[chart.root].children if chart[name].kind == "final"}


def _unstopped(chart: Chart) -> Iterator[Invoke]:
    """Invocations that no event and no time limit can stop."""
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
        yield from (invoke for invoke in state.invoke if invoke.timeout is None and invoke.id not in told)


def undecided_results(chart: Chart) -> Iterator[Diagnostic]:
    """Report ends of invocations that all guards may refuse: the result is lost, or the failure ends the machine.

    A lost result may be intended if the machine can go on in another way: by a timer, by an event of a person that does
    not end the machine, or in another region. In that case only failures are reported.
    """
    ends = _ends(chart)
    handlers = {state.name: _by_descriptor(state) for state in chart}
    for state in chart:
        around = [chart[name] for name in (state.name, *chart.ancestors(state.name))] if state.invoke else []
        may_wait = any(
            one.kind == "parallel" or any(_leads_on(each, ends) for each in one.transitions) for one in around
        )
        for invoke in state.invoke:
            for end in ("error",) if may_wait else ("done", "error"):
                matching = list(descriptors(f"{end}.invoke.{invoke.id}"))
                found = [t for one in around for name in matching for t in handlers[one.name].get(name, ())]
                if found and not is_decided([each.guard for each in found]):
                    what = (
                        "its result is lost, and nothing follows"
                        if end == "done"
                        else "the machine ends with the error"
                    )
                    message = (
                        f"invoke {invoke.id!r}: all guards of 'on {end}' may be false, and then {what}: "
                        f"give 'on {end}' a last transition without a guard"
                    )
                    yield finding("undecided-result", found[0].position, message)


def _by_descriptor(state: State) -> dict[str, list[Transition]]:
    found: dict[str, list[Transition]] = {}
    for transition in state.transitions:
        for event in transition.events:
            found.setdefault(event, []).append(transition)
    return found


def _leads_out(transition: Transition) -> bool:
    return bool(transition.targets) and (transition.origin == "after" or _is_from_outside(transition))


def _leads_on(transition: Transition, ends: set[str]) -> bool:
    return _leads_out(transition) and (transition.origin == "after" or ends.isdisjoint(transition.targets))


def _is_from_outside(transition: Transition) -> bool:
    return transition.origin == "transitions" and any(not event.startswith(GENERATED) for event in transition.events)
