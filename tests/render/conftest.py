"""The charts that every drawing is tried on."""

from __future__ import annotations

from pathlib import Path

import pytest

from rawko.chart import Chart, find_chart, load_chart, shipped_charts

NESTED = Path(__file__).parent / "nested.yaml"


@pytest.fixture(params=["nested", *shipped_charts()])
def chart(request: pytest.FixtureRequest) -> Chart:
    return load_chart(NESTED if request.param == "nested" else find_chart(request.param))


@pytest.fixture
def nested() -> Chart:
    return load_chart(NESTED)
