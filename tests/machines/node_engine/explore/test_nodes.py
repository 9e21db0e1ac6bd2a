"""The nodes of an exploration by themselves, with real programs on a real pseudo-terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rawko.machines.node_engine.context import RunState
from rawko.machines.node_engine.explore.deciding import Memory, view_of
from rawko.machines.node_engine.explore.nodes import launch_or_attach
from rawko.machines.node_engine.explore.policy import ExplorePolicy
from rawko.machines.node_engine.explore.ports import TERMINAL, TRAIL
from rawko.machines.node_engine.explore.trail import KeptTrail
from rawko.machines.node_engine.nodes import Adapters, NodeCall
from rawko.terminal import PtyTerminal

Make = Callable[..., PtyTerminal]


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Make]:
    """`terminal("print(1)")`: a terminal for a Python program that is not started yet; ended afterwards."""
    made: list[PtyTerminal] = []

    def make(code: str) -> PtyTerminal:
        made.append(PtyTerminal((sys.executable, "-u", "-c", code), cwd=str(tmp_path), env=os.environ))
        return made[-1]

    yield make
    for one in made:
        await one.close()


def call(at: PtyTerminal, launch: Mapping[str, Any], **data: Any) -> NodeCall:
    """A first attempt of the node that launches."""
    policy = ExplorePolicy.model_validate({"rules": [{"name": "r", "press": "q"}], "launch": dict(launch)})
    adapters = Adapters().bound(TERMINAL, at).bound(TRAIL, KeptTrail([]))
    ctx = {"policy": policy.model_dump(mode="json")}
    return NodeCall("launch_or_attach", RunState(data=data), adapters, ctx, 7)


async def test_a_launched_program_is_recorded_with_its_process(terminal: Make) -> None:
    at = terminal("print('ready'); input()")
    outcome = await launch_or_attach(call(at, {"expect": "ready"}, launches=2, is_lost=True, unchanged=3))
    assert outcome.is_success
    assert outcome.data == {"launches": 3, "is_lost": False, "unchanged": 0, "decided_on": ""}
    (event,) = outcome.events
    assert (event["type"], event["replayed"], event["is_diverged"]) == ("LAUNCHED", 0, False)
    assert event["pid"] > 0
    assert at.is_open
    attached = await launch_or_attach(call(at, {}))
    assert [event["type"] for event in attached.events] == ["ATTACHED"]


@pytest.mark.parametrize(
    ("code", "launch", "problem"),
    [
        (
            "print('no such display'); raise SystemExit(7)",
            {},
            "the program ended with status 7 before it was ready: no such display",
        ),
        ("raise SystemExit(7)", {}, "the program ended with status 7 before it was ready"),
        ("input()", {"expect": "ready", "within_ms": 100}, "'ready' was not shown within 100 ms"),
    ],
    ids=["with its last words", "without a word", "not shown in time"],
)
async def test_a_program_that_is_not_ready_is_closed_and_says_why(
    terminal: Make, code: str, launch: dict[str, Any], problem: str
) -> None:
    at = terminal(code)
    outcome = await launch_or_attach(call(at, launch))
    assert (outcome.is_success, outcome.message) == (False, problem)
    (event,) = outcome.events
    assert (event["type"], event["message"]) == ("LAUNCH_FAILED", problem)
    assert event["pid"] > 0
    assert not at.is_open


async def test_decisions_that_change_nothing_are_counted(terminal: Make) -> None:
    at = terminal("print('menu'); input()")
    await at.launch()
    await at.until_shown("menu", 30_000)
    here = at.screen().hash
    seen = [view_of(at, Memory(decided_on=on, unchanged=so_far)).unchanged for on, so_far in [
        (here, 0), (here, 2), ("elsewhere", 2), ("", 0)]]  # fmt: skip
    assert seen == [1, 3, 0, 0]
