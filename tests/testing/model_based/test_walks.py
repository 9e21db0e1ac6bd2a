"""Walks: ways of a chart that are taken in another program."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rawko.testing import Walk, WalkStep, walks
from rawko.testing.errors import ContractMistake
from tests.proving.test_chart_paths import WORKER


class Program:
    """What the chart `worker` is a model of; `has_defect`: it forgets to wait after a failure."""

    def __init__(self, *, has_defect: bool = False) -> None:
        self.is_at = "idle"
        self._after_failure = "working" if has_defect else "waiting"

    def go(self, step: WalkStep) -> None:
        self.is_at = "working"

    def cancel(self, step: WalkStep) -> None:
        self.is_at = "cancelled"

    def end(self, step: WalkStep) -> None:
        is_good = any(answer for _, answer in step.guards)
        self.is_at = "done" if is_good else "waiting"

    def fail(self, step: WalkStep) -> None:
        self.is_at = self._after_failure

    def look(self, step: WalkStep) -> None:
        if self.is_at not in step.configuration:
            raise AssertionError(f"{self.is_at} after {step}")

    def take(self, walk: Walk) -> None:
        events = {
            "GO": self.go,
            "CANCEL": self.cancel,
            "done.invoke.work": self.end,
            "error.invoke.work": self.fail,
            "after.waiting.0": self.go,
        }
        walk.take(events=events, states=dict.fromkeys(("idle", "working", "waiting", "done", "cancelled"), self.look))


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    (tmp_path / "worker.yaml").write_text(WORKER, encoding="utf-8")
    return tmp_path / "worker.yaml"


@pytest.mark.parametrize("strategy", ["shortest", "transitions", "pairs", "simple"])
def test_a_program_that_does_as_the_chart_passes_all_walks(chart: Path, strategy: str) -> None:
    found = walks(chart, strategy=strategy)
    assert found and all(walk.steps[0].kind == "start" for walk in found)
    for walk in found:
        Program().take(walk)


def test_a_program_with_a_defect_fails_where_it_is(chart: Path) -> None:
    failed = []
    for walk in walks(chart, strategy="transitions"):
        try:
            Program(has_defect=True).take(walk)
        except AssertionError as error:
            failed.append(str(error))
    assert failed and set(failed) == {"working after error.invoke.work"}


def test_functions_may_be_asynchronous(chart: Path) -> None:
    seen: list[str] = []

    async def do(step: WalkStep) -> None:
        await asyncio.sleep(0)
        seen.append(str(step))

    (walk,) = walks(chart, to=["working"])
    asyncio.run(walk.take_async(events={"GO": do}, states={"working": do, "idle": lambda step: seen.append(str(step))}))
    assert list(map(str, seen)) == ["the machine starts", "GO", "GO"]
    with pytest.raises(ContractMistake, match="take_async"):
        walk.take(events={"GO": _waits})


class Awaited:
    def __await__(self) -> Iterator[None]:
        return iter(())


def _waits(step: WalkStep) -> Awaited:
    return Awaited()


def test_mistakes_are_told(chart: Path) -> None:
    (walk,) = walks(chart, to=["working"])
    assert str(walk) == "worker, state 'working': GO"
    with pytest.raises(ContractMistake, match="nothing makes 'GO' happen; did you mean 'Go'"):
        walk.take(events={"Go": print})
    with pytest.raises(ContractMistake, match="no strategy 'pair'; did you mean 'pairs'"):
        walks(chart, strategy="pair")
    with pytest.raises(ContractMistake, match="no state 'workin'; did you mean 'working'"):
        walks(chart, to=["workin"])
