"""Formats the results of `rawko prove`: counts, assumptions, and verdicts with their steps; as lines or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rawko.chart import Chart
from rawko.proving import ControlSystem, Exploration, Finding, Move, Outcome
from rawko.proving.bounding.ending_messages import assumed_of
from rawko.proving.reduction.split import Found
from rawko.proving.reports.steps import numbered_steps


def result_lines(
    chart: Chart, found: Found, assumed: Sequence[str], findings: Sequence[Finding], replays: Sequence[str]
) -> list[str]:
    states, ways = _counted(len(found), "configuration"), _counted(found.edge_count, "way")
    lines = [f"{chart.name}: {states}, {ways} between them", *_told_parts(found)]
    lines += [f"not complete: {reason}" for reason in found.unknown]
    lines += [f"assumed: {text}" for text in assumed]
    for finding, difference in zip(findings, replays, strict=True):
        lines.append(f"{finding.verdict.value:<13}{finding.property}: {finding.text}")
        if not finding.way:
            continue
        lines += [f"    {line}" for line in numbered_steps(found.system, finding)]
        lines.append(
            f"    not confirmed by the interpreter: {difference}" if difference else "    confirmed by the interpreter"
        )
    return lines


def _told_parts(found: Found) -> list[str]:
    """Lines about which regions were explored separately, and for which properties all together."""
    if isinstance(found, Exploration):
        return []
    groups = [group for every in found.division.groups.values() for group in every]
    kind = "regions" if all(len(group) == 1 for group in groups) else "groups of regions"
    lines = [f"{len(groups)} {kind} that share nothing were explored one by one"]
    if found.is_complete:
        several = f"{_counted(len(found), 'configuration')} stand{'s' if len(found) == 1 else ''}"
        lines[0] += f": {several} for {'' if found.division.begins_alike else 'at most '}{found.count:,}"
    if found.asked_whole:
        whole = found.explored_whole
        names = ", ".join(found.asked_whole)
        lines.append(f"all regions together were explored for {names}: {_counted(len(whole), 'configuration')}")
        lines += [f"not complete, for {names}: {reason}" for reason in whole.unknown]
    return lines


def assumptions(system: ControlSystem) -> list[str]:
    """The assumptions of the verdicts, printed with every result."""
    guards = system.step.bindings.names("guard")
    texts = ["bound functions raise and send no events but those that the bounds name"]
    free = len(guards - (system.step.data.computed - system.step.data.free))
    if free:
        several = f"{free} guards may be true or false, whatever they compute"
        texts.insert(0, several if free > 1 else "1 guard may be true or false, whatever it computes")
    data = system.step.data
    if data.values:
        texts.append(f"context fields {', '.join(data.values)} have the values of the bounds; all others may have any")
    elif system.bounds.context:
        texts.append("the context's bounds are not used: the chart's functions are called only with --bindings")
    texts += assumed_of(system.step)
    outside = [name for name in system.events if name not in system.bounds.actor_events]
    if outside:
        texts.append(f"a person sends {', '.join(outside)}")
    return texts


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def result_document(
    chart: Chart, found: Found, assumed: Sequence[str], findings: Sequence[Finding], replays: Sequence[str]
) -> dict[str, Any]:
    return {
        "chart": chart.name,
        "configurations": len(found),
        "transitions": found.edge_count,
        **_counted_parts(found),
        "complete": found.is_complete,
        "unknown": list(found.unknown),
        "assumed": list(assumed),
        "properties": [
            {
                "property": finding.property,
                "verdict": finding.verdict.value,
                "text": finding.text,
                "steps": [_step(found, *step) for step in finding.way],
                "round": [list(names) for names in finding.round],
                "turns": [_step(found, *step) for step in finding.turns],
                **({"uses": [asdict(use) for use in finding.uses]} if finding.uses else {}),
                "confirmed": bool(finding.way) and not difference,
            }
            for finding, difference in zip(findings, replays, strict=True)
        ],
    }


def _counted_parts(found: Found) -> dict[str, Any]:
    if isinstance(found, Exploration):
        return {}
    whole: dict[str, Any] = {"properties": list(found.asked_whole)}
    if found.asked_whole:
        whole |= {"configurations": len(found.explored_whole), "complete": found.explored_whole.is_complete}
    return {
        "regions": {
            "groups": found.division.count,
            "stand_for": found.count,
            "exact": found.division.begins_alike,
            "together": whole,
        }
    }


def _step(found: Found, move: Move, outcome: Outcome) -> dict[str, Any]:
    return {
        "kind": move.kind,
        "event": move.event,
        "subject": move.subject,
        **({"ending": move.ending} if move.ending else {}),
        "guards": [{"guard": name, "answer": answer} for name, answer in outcome.answers],
        "configuration": [] if outcome.problem else list(found.system.step.names(outcome.control)),
    }
