"""Draws the coverage of contracts on the chart."""

from __future__ import annotations

from dataclasses import replace

from rawko.render.draw import DEFAULT, Options
from rawko.render.rows.captions import Caption
from rawko.testing.coverage.counts import Coverage
from rawko.testing.coverage.table import MEASURES, decision_text


def coverage_options(coverage: Coverage, options: Options = DEFAULT) -> Options:
    """Options that highlight visited states and transitions. The caption shows the five shares, and each decision with
    its branches that were never taken, because "no transition" has no arrow of its own. If `options` do not choose a
    style, transitions are drawn as rows, so that those of one decision are below each other."""
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
