"""The benchmark of long runs does the same work on both sides, and comes to its end."""

from __future__ import annotations

import sys

import pytest

from tests.bench.runs.long_run import CONTENDERS, call_of, measure

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads another process's CPU clock")


@pytest.mark.thorough
@pytest.mark.parametrize("name", CONTENDERS)
def test_a_run_is_measured(name: str) -> None:
    found = measure(CONTENDERS[name], 4)
    assert len(found.steps_s) == 4
    assert min(found.start_s, found.end_s, *found.steps_s) > 0


def test_no_two_calls_are_alike() -> None:
    """A call that is made again would be taken for a circle."""
    calls = [str(call_of(step)) for step in range(60)]
    assert len(set(calls)) == 60
