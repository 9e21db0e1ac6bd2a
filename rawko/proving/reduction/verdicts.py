"""Verdicts on the whole, from the verdicts on its parts.

    reachable                         what is reached in any part
    end, cancel                       only what is outside the regions leads to an end: it is in every part
    cycles, errors, contracts         each cycle, error and condition concerns what is outside and one group of regions
    stuck                             see `deadlocks`
    leads_to, monitors                need the whole: they depend on what other regions do in between

A timer of one region may have to wait for an earlier one of another region, which is not in its part. The earlier one
can always fire, so each state of a part is also reached in the whole, with more steps. If its macrostep fails, the
whole is explored. A counterexample of a part is extended to one of the whole (`merging`); if that fails, the whole is
explored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from rawko.chart import definition as d
from rawko.proving.contracts import has_contracts
from rawko.proving.exploring.compiled import CANCEL
from rawko.proving.exploring.exploration import Exploration
from rawko.proving.exploring.regions import OUTSIDE
from rawko.proving.findings import Finding, Verdict, accepted_by, all_of
from rawko.proving.monitoring.monitor import MonitorStep
from rawko.proving.monitoring.product import check_monitor, finding_name
from rawko.proving.outcomes import CYCLE
from rawko.proving.properties import (
    NOTHING_STUCK,
    PROPERTIES,
    asked_by_default,
    endless_macrostep,
    reached,
)
from rawko.proving.reduction.deadlocks import Unsure, deadlock
from rawko.proving.reduction.merging import Merging
from rawko.proving.reduction.split import Found, SplitExploration

_COUNTED: Final = {"end": "an end can be reached from {}", "cancel": "CANCEL leads to an end from {}"}


def check_all(
    found: Found,
    names: Iterable[str] = (),
    monitors: Iterable[MonitorStep] = (),
    tell: Callable[[str], None] = lambda name: None,
) -> list[Finding]:
    """As `check_properties`, for an exploration of the whole or of parts.

    Args:
        tell: Called with the name of each property before it is checked.
    """
    findings: list[Finding] = []
    for name in tuple(names) or asked_by_default(found.system):
        tell(name)
        finding = PROPERTIES[name](found) if isinstance(found, Exploration) else _check(found, name)
        findings.append(accepted_by(found.system.bounds, finding))
    return [*findings, *check_monitors(found, monitors, tell)]


def check_monitors(
    found: Found, monitors: Iterable[MonitorStep], tell: Callable[[str], None] = lambda name: None
) -> list[Finding]:
    """Verdicts on monitors only; accepted ones are marked."""
    findings: list[Finding] = []
    for one in monitors:
        tell(finding_name(one))
        whole = found if isinstance(found, Exploration) else found.whole(finding_name(one))
        findings.append(accepted_by(whole.system.bounds, check_monitor(whole, one)))
    return findings


def _check(split: SplitExploration, name: str) -> Finding:
    if name == "reachable" and not _blocks_others(split):
        return reached(split.parts)
    if name == "reachable" or _needs_whole(split, name):
        return PROPERTIES[name](split.whole(name))
    try:
        return _stuck(split) if name == "stuck" else _composed(split, name)
    except Unsure:
        return PROPERTIES[name](split.whole(name))


def _blocks_others(split: SplitExploration) -> bool:
    """Whether a macrostep of a timer or an event to itself fails, so that those of other regions wait for ever."""
    return any(move.kind in ("timer", "sent") for part in split.parts for _, move, _ in part.problems)


def _needs_whole(split: SplitExploration, name: str) -> bool:
    division, structure = split.division, split.system.step.structure
    if name == "leads_to":
        return bool(split.system.bounds.leads_to)
    if name == "cancel":
        sources = structure.sources(structure.event_key(CANCEL))
        return any(structure.parent[division.regions.roots[r]] in division.groups for r in _regions(split, sources))
    if name == "contracts" and has_contracts(split.system.source):
        return any(_crosses(split, state.name, one) for state in structure.states for one in _always(split, state.name))
    return False


def _always(split: SplitExploration, state: str) -> Sequence[d.Guard]:
    return split.system.source.states[state].contract.always


def _crosses(split: SplitExploration, state: str, condition: d.Guard) -> bool:
    """Whether a condition asks for states of regions outside the group of its own state."""
    division, index = split.division, split.system.step.structure.index
    asked = division.regions.read_by(condition) | ({division.regions.of[index[state]]} - {OUTSIDE})
    read = division.regions.read_by(condition)
    for groups in division.groups.values():
        inside = asked & frozenset().union(*groups)
        if read & inside and (division.regions.of[index[state]] == OUTSIDE or not any(inside <= one for one in groups)):
            return True
    return False


def _regions(split: SplitExploration, states: Iterable[int]) -> set[int]:
    return {split.division.regions.of[state] for state in states} - {OUTSIDE}


def _composed(split: SplitExploration, name: str) -> Finding:
    findings = [PROPERTIES[name](part) for part in split.parts]
    for verdict in (Verdict.REFUTED, Verdict.UNDETERMINED):
        if shown := [one for one in findings if one.verdict is verdict]:
            return min((_of_whole(split, one) for one in shown), key=lambda one: (len(one.way), len(one.turns)))
    first = findings[0]
    if not split.is_complete and first.verdict is Verdict.PROVED:
        return Finding(name, Verdict.UNDETERMINED, "not all states were explored")
    if first.verdict is Verdict.PROVED and name in _COUNTED:
        return replace(first, text=_COUNTED[name].format(all_of(len(split))))
    return replace(first, text="; ".join(dict.fromkeys(one.text for one in findings)))


def _stuck(split: SplitExploration) -> Finding:
    for part in split.parts:
        if any(outcome.problem == CYCLE for _, _, outcome in part.problems):
            endless = [found for one in split.parts if (found := endless_macrostep(one)) is not None]
            return min((_of_whole(split, one) for one in endless), key=lambda one: len(one.way))
    merging = deadlock(split)
    if merging is not None:
        text = "nothing can happen here any more, and it is no end"
        end = split.system.step.names(merging.state.control)
        return Finding("stuck", Verdict.REFUTED, text, tuple(merging.way), end)
    if not split.is_complete:
        return Finding("stuck", Verdict.UNDETERMINED, "not all states were explored")
    return Finding("stuck", Verdict.PROVED, NOTHING_STUCK)


def _of_whole(split: SplitExploration, finding: Finding) -> Finding:
    """A finding of a part, with a path that is possible in the whole.

    Raises:
        Unsure: There is no such path, or a step of another region in between asks guards.
    """
    if not finding.way:
        return finding
    merging = Merging(split.system)
    if not merging.take(finding.way):
        raise Unsure
    if not merging.forced and not finding.turns:
        return replace(finding, way=tuple(merging.way))
    if not finding.turns:
        return replace(finding, way=tuple(merging.way), end=_end(split, merging, finding))
    forced = len(merging.forced)
    before, is_found = merging.repeat_cycle(finding.turns)
    asks = any(outcome.answers for outcome in merging.forced[forced:])
    if not is_found or (asks and finding.verdict is Verdict.REFUTED):
        raise Unsure
    way, turns = tuple(merging.way[:before]), tuple(merging.way[before:])
    names = [split.system.step.names(outcome.control) for _, outcome in (way[-1], *turns)]
    return replace(finding, way=way, turns=turns, end=names[0], round=tuple(names[:-1]))


def _end(split: SplitExploration, merging: Merging, finding: Finding) -> tuple[str, ...]:
    """Active states at the end of a path; before its last step, if the finding is about that step."""
    is_about_step = finding.way[-1][1].problem or finding.property == "contracts"
    steps = merging.way[:-1] if is_about_step else merging.way
    return split.system.step.names(steps[-1][1].control) if steps else ()
