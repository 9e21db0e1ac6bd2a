"""Names in a bounds file that its chart does not have: ignored silently, they would weaken a proof."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rawko.chart.errors import hint
from rawko.chart.lint.bindings import needed_names
from rawko.proving.monitoring.product import PREFIX
from rawko.proving.script import guard_names
from rawko.proving.system import ControlSystem


def unknown_names(system: ControlSystem, properties: Collection[str]) -> Iterator[str]:
    """One sentence for each unknown name, with the nearest known one.

    Args:
        properties: The names that `accepted` may have, besides those of monitors.
    """
    bounds = system.bounds
    asked = guard_names(system.step.chart)
    guards = {*asked, *(name.partition("(")[0] for name in asked)}
    actions = {needed.name for needed in needed_names(system.source) if needed.kind == "action"}
    yield from _unknown("budget_guards", {one.guard for one in bounds.budgets}, guards, "guards")
    for key in ("counted_by", "refilled_by"):
        yield from _unknown(key, {name for one in bounds.budgets for name in getattr(one, key)}, actions, "actions")
    yield from _unknown("actor_events", bounds.actor_events, system.events, "events")
    yield from _unknown("person_actors", bounds.person_actors, system.step.invocations, "invocations")
    yield from _unknown("raises", bounds.raises, actions, "actions")
    yield from _unknown("sends", bounds.sends, actions, "actions")
    if system.step.data.known_fields is not None:
        yield from _unknown("context", bounds.context, system.step.data.known_fields, "context fields")
    yield from _unknown("agents", bounds.agents, system.step.invocations, "invocations")
    approving = (*system.events, *system.step.invocations)
    yield from _unknown("approvals", bounds.approvals, approving, "events and invocations")
    if bounds.answers:
        yield f"answers names {', '.join(map(repr, sorted(bounds.answers)))}; only bounds of a monitor may have answers"
    states = {name for name, others in bounds.leads_to.items() for name in (name, *others)}
    yield from _unknown("leads_to", states, system.source.states, "states")
    said = [name for name in bounds.accepted if not name.startswith(PREFIX)]  # monitors may not be part of this proof
    yield from _unknown("accepted", said, properties, "properties")


def _unknown(key: str, said: Collection[str], known: Collection[str], kind: str) -> Iterator[str]:
    for name in sorted(said):
        if name not in known:
            yield f"{key} names {name!r}, which is none of the chart's {kind}{hint(name, sorted(known), kind)}"
