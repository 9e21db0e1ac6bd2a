"""Prints the findings of a laboratory as a table and a few sentences."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from textwrap import shorten

from rawko.app.lab.findings import Finding
from rawko.app.lab.laboratory import Laboratory
from rawko.cli.amounts import money
from rawko.cli.columns import Column, Columns, stdout_width
from rawko.cli.output import Painter, visible_line

_MOST_CHANGES = 3
"""The most changed decisions that are listed per variant; further ones are counted."""
_MOST_PROBLEMS = 3
_PROBLEM_CHARS = 300
_WIDE = 106
"""The terminal width in cells from which all columns are shown."""
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def print_findings(lab: Laboratory) -> None:
    """Print all findings so far."""
    paint, found = Painter(sys.stdout), lab.findings()
    print(paint(visible_line(_heading(lab)), "bold"))
    for line in _inputs(lab):
        print(paint(visible_line(line), "yellow"))
    columns = Columns(
        [
            Column("variant", 28),
            Column("asked", 6, _WIDE, is_right=True),
            Column("same", 11, is_right=True),
            Column("agent", 6, _WIDE, is_right=True),
            Column("verdict", 7, _WIDE, is_right=True),
            Column("changed", 7, is_right=True),
            Column("tokens saved", 16, is_right=True),
            Column("cost", 9, is_right=True),
        ],
        stdout_width(),
    )
    print(paint(columns.header(), "bold"))
    for finding in found:
        print(columns.line([visible_line(cell) for cell in _cells(finding)]).rstrip())
    for line in _ending(lab, found):
        print(visible_line(line))
    _print_proposal(lab, paint)


def _print_proposal(lab: Laboratory, paint: Painter) -> None:
    proposal = lab.proposal
    if proposal is None or not any(finding.variant.window for finding in lab.findings()):
        return
    if not proposal.changes:
        about = f"{proposal.variant}: " if proposal.variant else ""
        print(visible_line(f"nothing is proposed: {about}{proposal.why_not}"))
        return
    for change in proposal.changes:
        for line in change.diff.splitlines():
            style = _DIFF_STYLES.get(line[:1])
            print(paint(visible_line(line), *((style,) if style else ())))
    what = "written" if lab.is_written else "proposed, and not written; --write writes it"
    print(paint(visible_line(f"{proposal.variant}: {what}"), "bold"))


def _heading(lab: Laboratory) -> str:
    runs = f"{len(lab.runs)} run{'' if len(lab.runs) == 1 else 's'}"
    count = len(lab.decisions)
    left_out = f" ({lab.left_out} more left out by --limit)" if lab.left_out else ""
    return f"{count} decision{'' if count == 1 else 's'} of {runs}{left_out}"


def _inputs(lab: Laboratory) -> Iterator[str]:
    if changed := lab.fits.get("changed"):
        yield (
            f"{changed} of {len(lab.decisions)} questions are not those that were sent: templates, model or rawko have "
            "changed since; the row 'unchanged' shows the effect of that"
        )
    if unknown := lab.fits.get("unknown"):
        yield f"of {unknown} questions it is not known whether they are those that were sent: an earlier version ran"


def _cells(found: Finding) -> list[str]:
    count = len(found.answers)
    rate = f" {found.agreement:.0%}" if found.agreement is not None else ""
    is_unchanged = found.variant.name == "unchanged"
    sign = "~" if found.is_estimated else ""
    saved = "" if is_unchanged or not count else f"{sign}{found.saved:,} ({found.saved_part:.0%})"
    changed = "" if is_unchanged or not count else str(len(found.changed))
    return [
        found.variant.name,
        str(found.decisions),
        _of(found.same, count) + rate,
        _of(found.same_agent, count),
        _of(found.same_verdict, count),
        changed,
        saved,
        money(found.cost_usd) if count else "",
    ]


def _of(same: int, count: int) -> str:
    return f"{same}/{count}" if count else ""


def _ending(lab: Laboratory, found: tuple[Finding, ...]) -> Iterator[str]:
    answers = {(one.variant, one.decision.run, one.decision.step): one for one in lab.asked if not one.is_same}
    for finding in found[1:]:
        for run, step in finding.changed[:_MOST_CHANGES]:
            one = answers[finding.variant, run, step]
            said = "no usable decision" if one.verdict is None else one.verdict.said
            yield f"  {finding.variant.name}: {run}@{step} {one.decision.verdict.said} became {said}"
        if len(finding.changed) > _MOST_CHANGES:
            yield f"  {finding.variant.name}: and {len(finding.changed) - _MOST_CHANGES} more"
    same = [
        finding.variant.name
        for finding in found[1:]
        if not finding.answers and not finding.failed and finding.unaffected
    ]
    if same:
        yield f"nothing to ask: {', '.join(same)} (no question has it)"
    if lab.known:
        share = lab.known / len(lab.asked)
        yield f"{lab.known} of {len(lab.asked)} answers ({share:.0%}) were known from an earlier time"
    for problem in lab.problems[:_MOST_PROBLEMS]:
        yield f"no answer: {shorten(problem, _PROBLEM_CHARS)}"
    if len(lab.problems) > _MOST_PROBLEMS:
        yield f"no answer: and {len(lab.problems) - _MOST_PROBLEMS} other problems"
    if lab.stopped:
        yield f"stopped, {lab.left} questions not asked: {lab.stopped}"
