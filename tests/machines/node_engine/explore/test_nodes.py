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
from rawko.machines.node_engine.explore.nodes import launch_or_attach, perceive, switch_policy, wait_idle
from rawko.machines.node_engine.explore.policy import ExplorePolicy
from rawko.machines.node_engine.explore.ports import PATTERNS, TERMINAL, TRAIL
from rawko.machines.node_engine.explore.trail import KeptTrail
from rawko.machines.node_engine.nodes import Adapters, NodeCall
from rawko.terminal import KillableSearch, PtyTerminal

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


RULE = {"name": "r", "when": {"screen": ["menu"]}}
DECIDED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a rule presses": ("menu", {"rules": [{**RULE, "press": ["enter"]}]}, {"next": "perceive"}),
    "a rule goes back": ("menu", {"rules": [{**RULE, "back": True}]}, {"dead_end": "the policy says so"}),
    "a rule stops": ("menu", {"rules": [{**RULE, "stop": "success"}]}, {"outcome": "success"}),
    "no rule, back": ("menu", {"otherwise": "back"}, {"dead_end": "no rule fits the screen"}),
    "no rule, wait": ("menu", {"otherwise": "wait"}, {"next": "wait_idle", "is_waiting": True}),
    "no rule, stop": ("menu", {"otherwise": "stop"}, {"outcome": "failure"}),
    "ended well": ("", {"otherwise": "back"}, {"outcome": "success"}),
    "ended badly": ("3", {"otherwise": "back"}, {"outcome": "failure"}),
    "a rule for the end": ("3", {"rules": [{"name": "e", "when": {"exited": True}, "stop": "success"}]},
                           {"outcome": "success"}),
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDED)
async def test_what_is_decided(terminal: Make, name: str) -> None:
    shown, policy, expected = DECIDED[name]
    at = terminal("print('menu'); input()" if shown == "menu" else f"raise SystemExit({shown or 0})")
    await at.launch()
    if shown == "menu":
        await at.until_shown("menu", 30_000)
    else:
        while at.exit_status is None:
            await at.until_quiet(10, 1_000)
    adapters = Adapters().bound(TERMINAL, at).bound(TRAIL, KeptTrail([])).bound(PATTERNS, KillableSearch())
    ctx = {"policy": ExplorePolicy.model_validate({"rules": [], **policy}).model_dump(mode="json")}
    outcome = await switch_policy(NodeCall("switch_policy", RunState(), adapters, ctx, 7))
    last = outcome.events[-1]
    found: dict[str, Any] = {"next": outcome.next_node}
    if last["type"] == "DEAD_END":
        found = {"dead_end": last["why"]}
    elif outcome.data.get("outcome"):
        found = {"outcome": outcome.data["outcome"]}
    elif outcome.data["is_waiting"]:
        found["is_waiting"] = True
    assert found == expected


async def test_decisions_that_change_nothing_are_counted(terminal: Make) -> None:
    at = terminal("print('menu'); input()")
    await at.launch()
    await at.until_shown("menu", 30_000)
    here = at.screen().hash
    seen = [view_of(at, Memory(decided_on=on, unchanged=so_far)).unchanged for on, so_far in [
        (here, 0), (here, 2), ("elsewhere", 2), ("", 0)]]  # fmt: skip
    assert seen == [1, 3, 0, 0]


def deciding(at: PtyTerminal, policy: Mapping[str, Any], **data: Any) -> NodeCall:
    """A first attempt of the node that decides."""
    search = KillableSearch(timeout_s=0.3)
    adapters = Adapters().bound(TERMINAL, at).bound(TRAIL, KeptTrail([])).bound(PATTERNS, search)
    ctx = {"policy": ExplorePolicy.model_validate({"rules": [], **policy}).model_dump(mode="json")}
    return NodeCall("switch_policy", RunState(data=data), adapters, ctx, 7)


async def test_a_screen_is_told_once_and_a_program_that_does_not_react_is_left_alone(terminal: Make) -> None:
    at = terminal("print('menu'); input()")
    await at.launch()
    await at.until_shown("menu", 30_000)
    policy = {"rules": [{"name": "r", "press": ["enter"]}], "stuck_after": 3}
    first = await switch_policy(deciding(at, policy, decided_on=at.screen().hash, unchanged=1))
    assert [event["type"] for event in first.events] == ["SCREEN", "DECIDED"]
    assert (first.next_node, first.data["unchanged"]) == ("perceive", 2)
    again = await switch_policy(deciding(at, policy, **first.data))
    last = again.events[-1]
    assert (last["type"], last["why"]) == ("DEAD_END", "3 decisions in a row have changed nothing on the screen")


async def test_what_was_told_of_a_screen_is_not_told_again(terminal: Make) -> None:
    at = terminal("print('menu'); input()")
    await at.launch()
    await at.until_shown("menu", 30_000)
    seen = await perceive(deciding(at, {}))
    assert [event["type"] for event in seen.events] == ["SCREEN"]
    assert (await perceive(deciding(at, {}, **seen.data))).events == []
    decided = await switch_policy(deciding(at, {"otherwise": "wait"}, **seen.data))
    assert [event["type"] for event in decided.events] == ["DECIDED"]


async def test_a_pattern_that_cannot_be_searched_for_in_time_ends_the_exploration(terminal: Make) -> None:
    at = terminal(f"print({'a' * 40 + 'b'!r}); input()")
    await at.launch()
    await at.until_shown("ab", 30_000)
    outcome = await switch_policy(
        deciding(at, {"rules": [{"name": "slow", "when": {"matches": "^(a+)+$"}, "press": "q"}]})
    )
    assert (outcome.is_success, outcome.next_node, outcome.data["outcome"]) == (False, "stop", "failure")
    assert outcome.message.startswith("the pattern '^(a+)+$' takes longer than 0.3 s")


@pytest.mark.parametrize("node", [perceive, wait_idle, switch_policy])
async def test_without_its_terminal_an_exploration_launches_anew(terminal: Make, node: Any) -> None:
    outcome = await node(deciding(terminal("input()"), {}))
    assert outcome.is_success
    assert outcome.next_node == "launch_or_attach"
    assert [event["type"] for event in outcome.events] == ["PROGRAM_GONE"]
