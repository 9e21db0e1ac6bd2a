"""Rate limits between tool calls and between model calls: who waits, for how long, and what ends the wait."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rawko.app import Report, Run
from rawko.app.records.history import steps_of
from rawko.cli.runs.log import row_line
from rawko.config import ConfigError, Flags, load_settings
from rawko.runtime.inspection import InspectionEvent
from rawko.runtime.pacing import Pace
from tests.cli.shell import call, says


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now, self.slept = now, list[float]()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def pace(clock: Clock, most: int | None = 2, left: int | None = None, told: list[str] | None = None) -> Pace:
    def tell(wait_s: float, limit: str) -> None:
        if told is not None:
            told.append(f"{wait_s:.1f} s: {limit}")

    return Pace("tool calls", most, left_ms=lambda: left, tell=tell, now=clock, sleep=clock.sleep)


async def test_no_minute_holds_more_than_the_limit() -> None:
    clock, told, passed = Clock(), list[str](), list[float]()
    limited = pace(clock, 3, told=told)
    for _ in range(10):
        assert await limited.admit() is None
        passed.append(clock.now)
        clock.now += 7
    assert all(later - earlier >= 60 for earlier, later in zip(passed, passed[3:], strict=False))
    assert clock.slept == [39, 39, 39]
    assert told[0] == "39.0 s: the rate limit is 3 tool calls a minute"


async def test_without_a_limit_nothing_waits() -> None:
    clock = Clock()
    free = pace(clock, None)
    assert [await free.admit() for _ in range(100)] == [None] * 100
    assert (clock.slept, free.notes()) == ([], [])


@pytest.mark.parametrize(("left", "fits"), [(60_001, True), (60_000, False), (-5, False)])
async def test_a_wait_longer_than_the_time_left_is_not_begun(left: int, fits: bool) -> None:
    clock = Clock()
    limited = pace(clock, 1, left)
    assert await limited.admit() is None, "one that does not wait is bounded by the budget alone"
    refused = await limited.admit()
    assert (refused is None, clock.slept) == (fits, [60] if fits else [])
    assert fits or ("due in 60.0 s" in str(refused) and len(limited.notes()) == 1)


async def test_two_that_wait_at_once_do_not_pass_together() -> None:
    """Each waits for its own turn: the second knows of the first, which has not passed yet."""
    clock, woken = Clock(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        clock.slept.append(seconds)
        if len(clock.slept) == 2:
            woken.set()
        await woken.wait()

    limited = Pace("tool calls", 1, now=clock, sleep=sleep)
    await limited.admit()
    await asyncio.gather(limited.admit(), limited.admit())
    assert clock.slept == [60, 120]


async def test_one_that_is_cancelled_does_not_count() -> None:
    limited = Pace("tool calls", 1)
    await limited.admit()
    before = limited.notes()
    waiting = asyncio.ensure_future(limited.admit())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert limited.notes() == before


@pytest.mark.parametrize(
    ("noted", "is_unsure", "wait"),
    [
        ([990, 999], False, [50]),
        ([990], True, [50]),
        ([990], False, []),
        ([930, 999], False, []),
        ([5e9, 5e9], False, [60]),
    ],
)
async def test_another_process_goes_on_counting(noted: list[float], is_unsure: bool, wait: list[float]) -> None:
    """Also where the clock was set back in between: no wait is longer than a minute."""
    clock = Clock()
    limited = pace(clock)
    limited.take_up({"tools": noted}, "tools", is_unsure=is_unsure)
    await limited.admit()
    assert clock.slept == wait


# ---------------------------------------------------------------- in a run

READS = [says("developer", call("read", file_path="a.txt")), says("developer", call("complete", summary="Done."))]
TWO = [says("developer", call("read", file_path="a.txt"), call("glob", pattern="*")), READS[1]]


def run_with(base: Path, config: str, replies: Sequence[Mapping[str, Any]], **more: Any) -> tuple[Run, list[str]]:
    folder = base / "project"
    (folder / ".rawko").mkdir(parents=True, exist_ok=True)
    (folder / ".rawko" / "config.yaml").write_text(config)
    (folder / "a.txt").write_text("a\n")
    (base / "scenario.yaml").write_text(json.dumps({"scenario": "test", "replies": replies}))
    environ = {"RAWKO_STATE_DIR": str(base / "state"), "PATH": "/usr/bin:/bin"}
    flags = Flags(scenario=str(base / "scenario.yaml"), assume_yes=True)
    lines: list[str] = []
    settings = load_settings(folder, flags, environ)
    return Run(settings, "Work", "developer", log=lambda level, text, data: lines.append(text), **more), lines


async def cancelled_while_waiting(run: Run, lines: list[str]) -> Report:
    """The report of a run that is cancelled once it says that it waits; one that does not wait ends by itself."""
    waits = asyncio.Event()

    def log(level: str, text: str, data: Mapping[str, Any]) -> None:
        lines.append(text)
        if "waiting" in text:
            waits.set()

    run.log = log
    working = asyncio.ensure_future(run.execute())
    waiting = asyncio.ensure_future(waits.wait())
    async with asyncio.timeout(600):
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        run.cancel("me")
        return await working


LIMITS = [
    pytest.param("tools_per_minute: 1", TWO, "1 tool calls a minute", id="tools"),
    pytest.param("calls_per_minute: 1", READS, "1 model calls a minute", id="calls"),
]


@pytest.mark.parametrize(("rate", "replies", "said"), LIMITS)
async def test_a_run_keeps_to_its_rates(
    tmp_path: Path, rate: str, replies: Sequence[Mapping[str, Any]], said: str
) -> None:
    """The wait is told, and CANCEL ends it long before it is over."""
    run, lines = run_with(tmp_path, f"rate: {{{rate}}}\n", replies)
    seen: list[InspectionEvent] = []
    run.observe = seen.append
    report = await cancelled_while_waiting(run, lines)
    assert (report.outcome, report.usage.calls) == ("cancelled", 1)
    assert any(said in line for line in lines)
    (emitted,) = [event for event in seen if event["type"] == "emit" and event["event"] == "RATE_WAIT"]
    assert said in emitted["data"]["limit"]
    assert 0 < emitted["data"]["wait_ms"] <= 60_000
    (step,) = [event for event in seen if event["type"] == "step" and (event["event"] or {}).get("name") == "RATE_WAIT"]
    shown = [row_line(row, is_left=False) async for row in steps_of(run.settings, run.id) if row.seq == step["row"]]
    assert len(shown) == 1
    assert "RATE_WAIT" in shown[0]
    assert f"s: the rate limit is {said}" in shown[0]


@pytest.mark.parametrize(("rate", "replies", "said"), LIMITS)
async def test_a_wait_that_does_not_fit_is_not_begun(
    tmp_path: Path, rate: str, replies: Sequence[Mapping[str, Any]], said: str
) -> None:
    """The run is out of budget at once; with a larger one it goes on counting where it was."""
    run, lines = run_with(tmp_path, f"rate: {{{rate}}}\nbudget: {{time: 50s}}\n", replies)
    async with asyncio.timeout(600):
        report = await run.execute()
    assert (report.state, report.outcome, report.usage.calls) == ("out_of_budget", "limit", 1)
    assert said in report.summary
    assert not any("waiting" in line for line in lines)
    again, lines = run_with(tmp_path, f"rate: {{{rate}}}\nbudget: {{time: 30m}}\n", replies, id=run.id, is_resumed=True)
    report = await cancelled_while_waiting(again, lines)
    assert (report.outcome, report.usage.calls) == ("cancelled", 1)


@pytest.mark.parametrize("rate", ["tools_per_minute: 0", "calls_per_minute: -1", "tools: 3", "calls_per_minute: soon"])
def test_what_is_no_rate_is_refused(tmp_path: Path, rate: str) -> None:
    with pytest.raises(ConfigError, match="rate"):
        run_with(tmp_path, f"rate: {{{rate}}}\n", READS)
