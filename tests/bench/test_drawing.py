"""A chart as SVG, by its size and shape. Run with `--benchmark-only`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rawko.chart import Chart, parse_chart
from rawko.render.draw import draw


def ring(count: int) -> Chart:
    """States that lead to the next one each, the last one to the first."""
    states = [
        {"name": f"s{i}", "transitions": [{"event": "NEXT", "target": f"s{(i + 1) % count}"}]} for i in range(count)
    ]
    return parse_chart(
        json.dumps({"statechart": {"name": "ring", "root state": {"name": "r", "initial": "s0", "states": states}}})
    )


@pytest.mark.parametrize("count", [100, 500])
def test_ring_as_svg(benchmark: Any, count: int) -> None:
    chart = ring(count)
    assert benchmark.pedantic(draw, args=(chart, ".svg"), rounds=5, warmup_rounds=1)
