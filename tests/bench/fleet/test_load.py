"""The benchmark of the fleet: every contender does the whole work, and comes to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.fleet.__main__ import CONTENDERS, table
from tests.bench.fleet.captured_files import BY_NAME
from tests.bench.fleet.contender import Contender, Missing
from tests.bench.fleet.measure import Load, measure
from tests.bench.fleet.work import answer, carry_out, is_allowed, problem, turns

LOAD = Load(runs=2, steps=6, workers=1, slots=2)

pytestmark = pytest.mark.slow


@pytest.mark.thorough
@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda one: one.name)
def test_a_contender_is_measured(contender: Contender) -> None:
    try:
        found = measure(contender, LOAD)
    except Missing as reason:
        pytest.skip(str(reason))
    assert found.seconds > 0
    assert found.transactions > LOAD.runs
    assert contender.name in table([[found]], LOAD)


@pytest.mark.parametrize("kind", BY_NAME)
def test_files_go_on_elsewhere_with_the_packs_of_a_contender(kind: str, tmp_path: Path) -> None:
    """Otherwise it would be measured without the promise that it stands for."""
    here, there = BY_NAME[kind](tmp_path / "here"), BY_NAME[kind](tmp_path / "there")
    here.take_up([])
    packs = []
    for turn in range(3):
        answered = answer(turn, 6)
        name = f"in/{answered['file_path']}" if turn == 1 else answered["file_path"]
        carry_out(str(tmp_path / "here"), {**answered, "file_path": name})
        packs.append(here.capture())
    carry_out(str(tmp_path / "here"), {"file_path": "later.txt", "content": "of a call that was not kept"})
    for files, folder in ((there, tmp_path / "there"), (here, tmp_path / "here")):
        files.take_up(packs)
        found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        assert found == ["in/part001.txt", "part000.txt", "part002.txt"]
        assert (folder / "part002.txt").read_text("utf-8") == answer(2, 6)["content"]
        carry_out(str(folder), answer(0, 6) | {"content": "other"})
        assert files.capture()[0] != packs[-1][0]


def test_what_no_call_may_write_is_not_allowed(tmp_path: Path) -> None:
    assert is_allowed(str(tmp_path), answer(0, 6))
    for other in ({"tool": "bash"}, {"file_path": "../outside.txt"}, {"file_path": "/etc/passwd"}):
        assert not is_allowed(str(tmp_path), {**answer(0, 6), **other})


def test_a_file_that_is_missing_or_another_is_seen(tmp_path: Path) -> None:
    for turn in range(turns(6)):
        carry_out(str(tmp_path), answer(turn, 6))
    assert answer(turns(6), 6)["tool"] == "complete"
    assert not problem(tmp_path, 6)
    (tmp_path / "part001.txt").write_text("other", encoding="utf-8")
    assert "other contents" in problem(tmp_path, 6)
