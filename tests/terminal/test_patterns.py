"""Regular expressions on screens: found as `re` finds them, and never waited for longer than allowed."""

from __future__ import annotations

import asyncio
import time

import psutil
import pytest

from rawko.machines.node_engine.explore.ports import PatternError
from rawko.terminal import KillableSearch

ENDLESS = "^(a+)+$"


async def test_those_that_are_found() -> None:
    patterns = ("^item$", "^tem", "日.", "", "\\d+")
    assert await KillableSearch().found(patterns, "menu\nitem\n日本 \ud800") == {"^item$", "日.", ""}
    assert await KillableSearch().found((), "menu") == frozenset()


async def test_one_that_takes_too_long_is_named_and_nothing_of_it_runs_on() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    beside = asyncio.create_task(others())
    before = set(psutil.Process().children())
    started = time.monotonic()
    with pytest.raises(PatternError, match=r"the pattern '\^\(a\+\)\+\$' takes longer than 0.4 s on this screen"):
        await KillableSearch(timeout_s=0.4).found(("menu", ENDLESS), "a" * 40 + "b")
    beside.cancel()
    assert time.monotonic() - started < 60
    assert turns > 5, "others in the loop get their turn"
    assert set(psutil.Process().children()) <= before
