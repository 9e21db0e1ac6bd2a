"""Leads-to: wherever a given state is active, one of some other states follows, if actors end and timers fire.

leads_to: {cancelling: [cancelled]}

a path to an end without any of them              refuted
a configuration that only a person's event exits  refuted: a person need not act
a cycle without them that no budget or person ends  undetermined: whether actors let it repeat is unknown
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from rawko.proving.exploring.compiled import PERSON, STILL, Label, is_no_persons
from rawko.proving.exploring.exploration import Exploration
from rawko.proving.findings import Finding, Verdict, refuted, turns_of
from rawko.proving.graph.termination import Step, endless_cycle
from rawko.proving.outcomes import Outcome
from rawko.proving.system import Move


def leads_to(found: Exploration) -> Finding:
    """Each state under `leads_to` in the bounds file is followed by one of the states listed for it."""
    wanted = found.system.bounds.leads_to
    if not wanted:
        return Finding("leads_to", Verdict.VOID, "the bounds file names no states under leads_to")
    open_ends: list[Finding] = []
    for first, others in wanted.items():
        finding = _broken(found, first, frozenset(others))
        if finding is not None and finding.verdict is Verdict.REFUTED:
            return finding
        open_ends += [finding] if finding is not None else []
    if open_ends:
        return open_ends[0]
    if not found.is_complete:
        return Finding("leads_to", Verdict.UNDETERMINED, "not all states were explored")
    told = "; ".join(f"{first!r} leads to {' or '.join(map(repr, others))}" for first, others in wanted.items())
    return Finding("leads_to", Verdict.PROVED, told)


def _broken(found: Exploration, first: str, others: frozenset[str]) -> Finding | None:
    names = [frozenset(found.names(number)) for number in range(len(found))]
    is_there = [not others.isdisjoint(active) for active in names]
    starts = [number for number, active in enumerate(names) if first in active and not is_there[number]]
    if not any(first in active for active in names):
        return refuted(found, "leads_to", f"{first!r} is never active between two events, so nothing was checked", 0)
    waiting = _reached(found, starts, is_there)
    told = f"{first!r} does not lead to {' or '.join(map(repr, sorted(others)))}"
    going_on = {source for source, target, label in found.edges() if not label.flags & PERSON and target != source}
    for number in waiting:
        if is_there[number] or number >= found.expanded:
            continue
        if found.is_done(number):
            return _shown(found, waiting, number, Verdict.REFUTED, f"{told}: the machine can end before")
        if number not in going_on:
            return _shown(found, waiting, number, Verdict.REFUTED, f"{told}: only a person can go on from here")
    cycle = endless_cycle(len(found), list(_steps(found, waiting, is_there)))
    if cycle is None:
        return None
    return _shown(found, waiting, cycle[0], Verdict.UNDETERMINED, f"{told}: a cycle may go on for ever", cycle)


_Reached: TypeAlias = dict[int, tuple[int, Label] | None]
"""Numbers of states, nearest first, each with the state and the label by which it was reached; None for a start."""


def _reached(found: Exploration, starts: list[int], is_there: list[bool]) -> _Reached:
    """The states that can follow a start up to the first of the wanted states, which are included."""
    reached: _Reached = dict.fromkeys(starts)
    for number in (waiting := list(starts)):
        if is_there[number] or number >= found.expanded:
            continue
        for edge in range(found.offsets[number], found.offsets[number + 1]):
            target = found.targets[edge]
            if target not in reached:
                reached[target] = (number, found.kinds[found.labels[edge]])
                waiting.append(target)
    return reached


def _shown(
    found: Exploration, reached: _Reached, number: int, verdict: Verdict, text: str, cycle: Sequence[int] = ()
) -> Finding:
    end = found.names(number)
    steps: list[tuple[Move, Outcome]] = []
    while (step := reached[number]) is not None:
        before, label = step
        steps.append((label.move, found.outcome_of(found.state(before), found.state(number), label)))
        number = before
    way = (*found.way_to(number), *reversed(steps))
    round_ = tuple(found.names(one) for one in cycle)
    return Finding("leads_to", verdict, text, way, end, round_, turns_of(found, cycle, is_no_persons))


def _steps(found: Exploration, waiting: _Reached, is_there: list[bool]) -> Iterator[Step]:
    for source, target, label in found.edges():
        is_inside = source in waiting and not is_there[source] and not is_there[target]
        if is_inside and not label.flags & PERSON and not (source == target and label.flags & STILL):
            yield Step(source, target, label.spending)
