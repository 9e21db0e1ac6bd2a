"""Formats coverage for people: a table, and one line for each missing element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rawko.testing.coverage.counts import Coverage, Share, branch_text, transition_text
from rawko.testing.coverage.decisions import Branch, Decision

MEASURES: Final = ("states", "transitions", "decisions", "guard outcomes", "ends of actors")
"""Column titles for `Coverage.shares`."""
_ENDED: Final = {"done": "came to its end", "error": "failed"}


def coverage_table(coverages: Iterable[Coverage], *, is_verbose: bool = True) -> str:
    """A table with one row per chart; with `is_verbose`, missing elements are listed below it with their positions."""
    found = list(coverages)
    rows = [("chart", *MEASURES), *((c.chart.name, *map(_cell, c.shares)) for c in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    if is_verbose:
        for coverage in found:
            lines += missing_lines(coverage)
    return "\n".join(lines)


def _cell(share: Share) -> str:
    return f"{share} ({int(share.percent)} %)"


def missing_lines(coverage: Coverage) -> list[str]:
    """Elements that were not covered, one line each with its position; a decision with all its missing branches is one
    line."""
    return [
        *(f"{state.position}: state {state.name!r} was never active" for state in coverage.missing_states),
        *(f"{t.position}: never taken: {transition_text(t)}" for t in coverage.missing_transitions),
        *(f"{one.position}: {decision_text(coverage, one, never)}" for one, never in coverage.missing_decisions),
        *(f"{coverage.chart.file}: guard {n!r} was never {str(o).lower()}" for n, o in coverage.missing_guards),
        *(f"{coverage.chart.file}: actor {n!r} never {_ENDED[e]}" for n, e in coverage.missing_actors),
    ]


def decision_text(coverage: Coverage, decision: Decision, never: Sequence[Branch]) -> str:
    """A decision with its branches that were never taken."""
    on = "without event" if decision.event is None else f"on {decision.event}"
    branches = ", ".join(branch_text(coverage.chart, branch) for branch in never)
    return f"decision of {decision.state!r} {on}: {len(never)} of {len(decision.branches)} never taken: {branches}"
