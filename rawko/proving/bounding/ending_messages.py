"""Messages about named outcomes and failures: assumptions, open questions, and endings without any effect."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from rawko.chart import definition as d
from rawko.chart.errors import nearest
from rawko.chart.lint.bindings import needed_names
from rawko.chart.lint.walk import actions, guards
from rawko.interpreter.bindings import Bindings
from rawko.proving.bounding.code_names import names_in
from rawko.proving.control import ControlStep
from rawko.proving.outcomes import bare

_READING: Final = ("guard", "action", "delay", "input", "output")


def wrong_endings(chart: d.Chart, step: ControlStep, functions: Bindings | None) -> Iterator[tuple[int, str]]:
    """Line and message for each actor and field that has no effect.

    Args:
        functions: The chart's own; None: the fields that they read are unknown.
    """
    yield from step.endings.wrong()
    if functions is None or not step.endings:
        return
    known = _read_names(chart, functions)
    if known is None:
        return
    for path, ending in step.endings.named():
        for name in dict.fromkeys(_fields(ending.value)):
            if name not in known:
                near = nearest(name, sorted(known))
                accepted = f"did you mean {near!r}?" if near else "a field that one of them reads by name is accepted"
                yield ending.line, f"{path} gives {name!r}, which no function of the chart reads; {accepted}"


def assumed_of(step: ControlStep) -> Iterator[str]:
    """The assumptions of the verdicts, and what was left open."""
    for (id, kind), endings in step.endings.of.items():
        names = " or ".join(repr(one.name) for one in endings)
        how = "ends well only as" if kind == "done" else "fails and times out only as"
        yield f"actor {id!r} {how} {names}"
    if step.endings and not step.data.answers_guards:
        yield "what outcomes give is not used: the chart's functions are called only with --bindings"
    for reader, ending, field in step.data.reads.lacking:
        yield f"{reader} is not known after {ending}: it reads {field}, which the bounds do not give"


def vacuous(step: ControlStep, *, is_complete: bool) -> Iterator[str]:
    """Outcomes and failures that never occur, or that always have the same results as another one.

    Args:
        is_complete: Whether all configurations were explored.
    """
    came_to: dict[tuple[str, str], dict[int, frozenset[Any]]] = {}
    for control, event, name, outcomes in step.worked_out():
        if name:
            found = came_to.setdefault((event, name), {})
            found[control] = frozenset((bare(one), one.transitions) for one in outcomes)
    for (id, kind), endings in step.endings.of.items():
        event = f"{kind}.invoke.{id}"
        noun = "outcome" if kind == "done" else "failure"
        if not any((event, one.name) in came_to for one in endings):
            if is_complete:
                names = ", ".join(repr(one.name) for one in endings)
                yield f"{noun}s of {id!r} ({names}) never occur: the actor never runs"
            continue
        if not step.data.answers_guards:
            continue
        places = set.intersection(*(set(came_to.get((event, one.name), ())) for one in endings))
        same: dict[Hashable, list[str]] = {}
        for one in endings:
            same.setdefault(tuple(came_to[event, one.name][place] for place in sorted(places)), []).append(one.name)
        for alike in same.values():
            if len(alike) > 1 and places:
                told = ", ".join(map(repr, alike))
                yield f"{noun}s {told} of {id!r} lead to the same everywhere: no guard or action tells one from another"


def _fields(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _fields(one)


def _read_names(chart: d.Chart, functions: Bindings) -> frozenset[str] | None:
    """Names in references of the chart and in the code of its functions; None: some code is not available."""
    own: set[str] = set()
    for call in _calls(chart):
        own.update(part for _, one in call.arguments if isinstance(one, d.Reference) for part in one.path)
    found = names_in(_functions(chart, functions))
    return None if found is None else found | own


def _calls(chart: d.Chart) -> Iterator[d.GuardCall | d.CallAction]:
    yield from (used.guard for used in guards(chart) if isinstance(used.guard, d.GuardCall))
    yield from (done.action for done in actions(chart) if isinstance(done.action, d.CallAction))


def _functions(chart: d.Chart, functions: Bindings) -> list[Any]:
    needed = {(one.kind, one.name) for one in needed_names(chart) if one.kind in _READING}
    return [value for kind, name, value in functions if (kind, name) in needed]
