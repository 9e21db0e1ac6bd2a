"""Prints the findings of an evaluation as a table and a few sentences."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rawko.app.evaluation.evaluation import Evaluation
from rawko.app.evaluation.results import Attempt, TaskFinding, summed
from rawko.cli.amounts import duration, money, tokens
from rawko.cli.columns import Column, Columns, stdout_width
from rawko.cli.output import Painter, visible_line

_WIDE = 100
"""The terminal width in cells from which all columns are shown."""
_MOST_RUNS = 5
"""The most failed attempts that are listed; further ones are counted."""


def print_findings(evaluation: Evaluation) -> None:
    """Print all findings so far."""
    paint, findings, last = Painter(sys.stdout), evaluation.findings(), evaluation.attempts
    columns = Columns(
        [
            Column("task", 24),
            Column("passed", 9, is_right=True),
            Column("pass@1", 6, is_right=True),
            *([Column(f"pass@{last}", 8, is_right=True)] if last > 1 else []),
            Column("time", 8, is_right=True),
            Column("runs", 5, _WIDE, is_right=True),
            Column("tokens", 7, _WIDE, is_right=True),
            Column("cost", 9, is_right=True),
        ],
        stdout_width(),
    )
    print(paint(columns.header(), "bold"))
    for found in findings:
        print(columns.line([visible_line(cell) for cell in _cells(found, last)]).rstrip())
    for line in _ending(evaluation):
        print(visible_line(line))


def _cells(found: TaskFinding, last: int) -> list[str]:
    tried = found.attempts > 0
    return [
        found.task,
        f"{found.passed}/{found.attempts}",
        f"{found.pass_at[1]:.0%}" if tried else "",
        *([f"{found.pass_at[last]:.0%}" if last in found.pass_at else ""] if last > 1 else []),
        duration(found.duration_s) if tried else "",
        f"{found.iterations:.1f}" if tried else "",
        tokens(round(found.tokens)) if tried else "",
        money(found.cost_usd or None),
    ]


def _ending(evaluation: Evaluation) -> Iterator[str]:
    every = summed(evaluation.findings())
    if len(evaluation.tasks) > 1 and every["attempts"]:
        cost = f", {money(every['cost_usd'])}" if every["cost_usd"] else ""
        yield f"{every['passed']} of {every['attempts']} attempts passed ({every['rate']:.0%}){cost}"
    failed = [one for one in evaluation.done.values() if not one.passed]
    failed.sort(key=lambda one: (one.task, one.number))
    for one in failed[:_MOST_RUNS]:
        yield f"  {one.task}-{one.number}: {_why(one)}" + (f" (rawko log {one.run})" if one.run else "")
    if len(failed) > _MOST_RUNS:
        yield f"  and {len(failed) - _MOST_RUNS} more that did not pass; --json and -o have all of them"
    if evaluation.stopped:
        yield f"stopped, {len(evaluation.open_attempts)} attempts left: {evaluation.stopped}"


def _why(one: Attempt) -> str:
    if one.violated:
        return f"stopped by the monitor {', '.join(one.violated)}"
    missing = [check.found for check in one.checks if not check.held]
    told = missing[0] if missing else one.problem.splitlines()[0] if one.problem else one.outcome
    return told if one.outcome == "success" else f"{one.outcome}; {told}"
