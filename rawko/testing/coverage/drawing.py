"""What contracts cover, drawn on the chart."""

from __future__ import annotations

from dataclasses import replace

from rawko.render.draw import DEFAULT, Options
from rawko.render.rows.captions import Caption
from rawko.testing.coverage.counts import Coverage
from rawko.testing.coverage.table import MEASURES, decision_text


def coverage_options(coverage: Coverage, options: Options = DEFAULT) -> Options:
    """Options that light the visited states and transitions. Above the chart stands how much is covered, and each
    decision with its branches that were never taken: that no transition is taken has no arrow of its own. Transitions
    are drawn as rows, a decision's below each other, where `options` leave that open."""
    shares = (f"{measure} {share}" for measure, share in zip(MEASURES, coverage.shares, strict=True))
    lines = [decision_text(coverage, decision, never) for decision, never in coverage.missing_decisions]
    caption = Caption(f"{coverage.chart.name}: what its contract covers", "  ·  ".join(shares), lines)
    return replace(
        options,
        style="rows" if options.style == "auto" else options.style,
        configuration=tuple(name for name, count in coverage.states.items() if count),
        taken=frozenset(index for index, count in coverage.transitions.items() if count),
        caption=caption,
    )
