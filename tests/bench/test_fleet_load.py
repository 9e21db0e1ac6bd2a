"""The benchmark of the fleet: every contender does the whole work, and comes to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.fleet.__main__ import CONTENDERS, table
from tests.bench.fleet.contender import Contender, Missing
from tests.bench.fleet.measure import Load, measure
from tests.bench.fleet.work import answer, carry_out, problem, turns

LOAD = Load(runs=2, steps=6, workers=1, slots=2)

pytestmark = pytest.mark.slow


@pytest.mark.thorough
@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda one: one.name.partition(",")[0])
def test_a_contender_is_measured(contender: Contender) -> None:
    try:
        found = measure(contender, LOAD)
    except Missing as reason:
        pytest.skip(str(reason))
    assert found.seconds > 0
    assert found.transactions > LOAD.runs
    assert contender.name in table([[found]], LOAD)


def test_a_file_that_is_missing_or_another_is_seen(tmp_path: Path) -> None:
    for turn in range(turns(6)):
        carry_out(str(tmp_path), answer(turn, 6))
    assert answer(turns(6), 6)["tool"] == "complete"
    assert not problem(tmp_path, 6)
    (tmp_path / "part001.txt").write_text("other", encoding="utf-8")
    assert "other contents" in problem(tmp_path, 6)
