"""The two paths that the seed names, over a real program: each by both drivers, each with both policies (C-65).

The program dies at its first launch, which is retried, and has a dead end, from which the walk goes back.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest

from rawko.machines.node_engine import (
    Adapters,
    EngineResult,
    NodeCall,
    NodeEngineContext,
    NodeOutcome,
    NodeRegistry,
    Port,
    RunState,
    failed,
    parse_policies,
    succeeded,
)
from rawko.machines.node_engine.drivers.choice import DriverName, make_driver
from rawko.machines.node_engine.drivers.setup import set_up

PROGRAM = """
import pathlib, sys, time

marker = pathlib.Path("launched")
if not marker.exists():
    marker.touch()
    sys.exit("no licence yet")
print("splash", flush=True)
time.sleep(0.03)
print("menu: x mystery, 1 start, q quit", flush=True)
for line in sys.stdin:
    if line.strip() == "q":
        break
    print("dead end" if line.strip() == "x" else "level 1", flush=True)
"""
QUIET_S, CAP_S = 0.06, 5.0

# ---------------------------------------------------------------- the port, and an adapter to a real process


class Terminal(Protocol):
    """A program that shows text and takes lines."""

    def is_running(self) -> bool: ...
    @property
    def screen(self) -> str: ...
    @property
    def quiet_s(self) -> float: ...
    async def launch(self) -> None: ...
    async def send(self, line: str) -> None: ...
    async def wait(self) -> int: ...


class Pipes:
    """A program behind pipes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._shown = b""
        self._last = time.monotonic()
        self.launches = 0

    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def screen(self) -> str:
        return self._shown.decode()

    @property
    def quiet_s(self) -> float:
        return time.monotonic() - self._last

    async def launch(self) -> None:
        self.launches += 1
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", PROGRAM, cwd=self._folder, stdin=pipe, stdout=pipe, stderr=pipe
        )
        self._reader = asyncio.create_task(self._read(self._process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while piece := await process.stdout.read(4096):
            self._shown += piece
            self._last = time.monotonic()

    async def send(self, line: str) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._last = time.monotonic()
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()

    async def wait(self) -> int:
        assert self._process is not None and self._reader is not None
        await self._reader
        return await self._process.wait()

    async def aclose(self) -> None:
        if self.is_running():
            assert self._process is not None
            self._process.kill()
            await self.wait()


TERMINAL = Port[Terminal]("terminal")

# ---------------------------------------------------------------- the nodes

nodes = NodeRegistry()


async def launch(call: NodeCall) -> NodeOutcome:
    """A running program, with its splash on the screen."""
    terminal = call.port(TERMINAL)
    if terminal.is_running():
        return succeeded(events=[{"type": "ATTACHED"}])
    await terminal.launch()
    while "splash" not in terminal.screen:
        if not terminal.is_running():
            return failed("the program has died", category="tool_failure")
        await asyncio.sleep(0.005)
    return succeeded(events=[{"type": "LAUNCHED", "id": call.replay_id()}])


nodes.node("launch_or_attach", ports=[TERMINAL])(launch)
nodes.node("splash", ports=[TERMINAL])(launch)


@nodes.node(ports=[TERMINAL])
async def perceive(call: NodeCall) -> NodeOutcome:
    """The screen as text, its hash, and whether it has changed."""
    text = call.port(TERMINAL).screen
    digest = hashlib.sha256(text.encode()).hexdigest()
    has_changed = digest != call.state.data.get("hash")
    return succeeded(data={"hash": digest}, events=[{"type": "PERCEIVED", "text": text, "has_changed": has_changed}])


@nodes.node(ports=[TERMINAL])
async def wait_idle(call: NodeCall) -> NodeOutcome:
    """Until the program has been quiet for a while, with a cap."""
    terminal = call.port(TERMINAL)
    give_up = time.monotonic() + CAP_S
    while terminal.quiet_s < QUIET_S or "menu" not in terminal.screen:
        if time.monotonic() > give_up:
            return failed("the program floods its screen", category="timeout")
        await asyncio.sleep(0.005)
    return succeeded()


@nodes.node(ports=[TERMINAL])
async def switch_policy(call: NodeCall) -> NodeOutcome:
    """What to press next: the mystery first, and when that was a dead end, the start."""
    terminal, tried = call.port(TERMINAL), call.state.data.get("tried", [])
    last = terminal.screen.splitlines()[-1]
    if last.startswith("level"):
        return succeeded("stop", data={"reached": last})
    if last == "dead end" and "1" not in tried and call.state.backtracks == 0:
        return failed("a dead end", is_retryable=False)
    key = "1" if tried else "x"
    await terminal.send(key)
    return succeeded("wait_idle", data={"tried": [*tried, key]}, events=[{"type": "PRESSED", "key": key}])


@nodes.node(ports=[TERMINAL])
async def stop(call: NodeCall) -> NodeOutcome:
    """The program's own end."""
    terminal = call.port(TERMINAL)
    await terminal.send("q")
    return succeeded(data={"exit_code": await terminal.wait()})


POLICIES = """
default: {retry: {max_retries: 2, base_ms: 20, cap_ms: 20}, timeout_ms: 10000}
nodes:
  launch_or_attach: {on_success: perceive, retry: {base_ms: 20, cap_ms: 40}}
  splash: {on_success: wait_idle, retry: {base_ms: 20, cap_ms: 40}}
  perceive: {on_success: wait_idle}
  wait_idle: {on_success: switch_policy}
  switch_policy: {can_backtrack: true}
"""

PATHS: Mapping[str, Sequence[str]] = {
    "launch_or_attach": ("launch_or_attach", "perceive", "wait_idle", "switch_policy", "stop"),
    "splash": ("splash", "wait_idle", "switch_policy", "stop"),
}
"""NE-013: the integration path, and the end-to-end path, by their first nodes."""


class Kept:
    """Callbacks that remember what was persisted and told."""

    def __init__(self) -> None:
        self.states: list[RunState] = []
        self.events: list[str] = []
        self.results: list[EngineResult] = []

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        assert state.node_name == node_name
        self.states.append(state)
        self.events += [event["type"] for event in events]

    async def on_attempt(self, result: EngineResult) -> None:
        self.results.append(result)


@pytest.mark.parametrize(
    ("first", "policy", "driver"),
    [
        ("launch_or_attach", "engine", "statechart"),
        ("launch_or_attach", "chart", "runner"),
        ("splash", "chart", "statechart"),
        ("splash", "engine", "runner"),
    ],
)
async def test_the_path_completes(
    first: str, policy: Literal["engine", "chart"], driver: DriverName, tmp_path: Path
) -> None:
    terminal, kept = Pipes(tmp_path), Kept()
    lines: list[Mapping[str, Any]] = []
    told: list[tuple[str, Mapping[str, Any]]] = []
    context = NodeEngineContext(node_name=first, seed=7, run_id="r1", policy=policy, policies=parse_policies(POLICIES))
    setup = set_up(
        nodes,
        context,
        adapters=Adapters().bound(TERMINAL, terminal),
        callbacks=kept,
        observe=lambda event, data: told.append((event, data)),
        log=lambda level, message, fields: lines.append(fields),
    )
    try:
        report = await make_driver(setup, driver).run()
    finally:
        await terminal.aclose()
    assert (report.outcome, report.error) == ("finished", None)
    assert report.state.data["reached"] == "level 1"
    assert report.state.data["exit_code"] == 0

    visited = [data["node_name"] for event, data in told if event == "ATTEMPT_STARTED"]
    *way, last = PATHS[first]
    assert visited == [first, *way, "wait_idle", "switch_policy", "wait_idle", "switch_policy", *way[-2:], last]
    assert terminal.launches == 2, "the launch is flaky, and tried again"
    back = [(data["from_node"], data["to_node"]) for event, data in told if event == "BACKTRACKED"]
    assert back == [("switch_policy", "wait_idle")]

    assert [state.step_ordinal for state in kept.states] == list(range(1, len(visited) + 1))
    assert [state.node_name for state in kept.states] == visited
    assert len(kept.results) == len(visited)
    assert kept.events.count("PRESSED") == 2
    assert [fields["step_ordinal"] for fields in lines] == sorted(fields["step_ordinal"] for fields in lines)
    assert {(fields["module"], fields["actor"], fields["run_id"]) for fields in lines} == {("agent", "worker", "r1")}
    assert {fields["node_name"] for fields in lines} == set(PATHS[first])
