"""The benchmark of the terminal view comes to its end, and measures what it says."""

from __future__ import annotations

import pytest

from tests.bench.views.terminal_view import compared


@pytest.mark.thorough
def test_both_runs_are_opened() -> None:
    found = compared({"short": 2, "longer": 10}, 1)
    for figures in found.values():
        assert min(figures.opening_ms, figures.up_ms, figures.all_ms, figures.home_ms) > 0
