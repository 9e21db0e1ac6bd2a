"""A worker that is killed with SIGKILL: another one takes its run over, and goes on where the journal ends (NE-011)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rawko.journal import SqlJournal
from rawko.machines.node_engine import (
    NodeCall,
    NodeEngineContext,
    NodeOutcome,
    NodePolicy,
    NodeRegistry,
    Policies,
    RetryPolicy,
    RunReport,
    RunState,
    failed,
    succeeded,
)
from rawko.machines.node_engine.drivers.setup import RunSetup, set_up
from rawko.machines.node_engine.drivers.worker import Worker
from rawko.machines.node_engine.errors import LeaseTaken
from rawko.machines.node_engine.leases import JournalLeases
from rawko.machines.node_engine.ports import NoCallbacks
from tests.thorough import further

TTL_MS = 500
POLICIES = Policies(default=NodePolicy(retry=RetryPolicy(base_ms=800, cap_ms=800)))

WORKER = """
import asyncio, pathlib, sys
sys.path.insert(0, sys.argv[3])
import test_killed as shared

where, ready = sys.argv[1], pathlib.Path("ready")
asyncio.run(shared.run_until_killed(where, ready, sys.argv[2]))
"""


class Callbacks(NoCallbacks):
    """Remembers the attempts that were kept; in the process that is killed, it stops in the middle."""

    def __init__(self, stuck_in: str = "", ready: Path | None = None) -> None:
        self.kept: list[int] = []
        self._stuck_in = stuck_in
        self._ready = ready

    async def stuck(self, where: str) -> None:
        if where == self._stuck_in:
            assert self._ready is not None
            self._ready.touch()
            await asyncio.sleep(3600)

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        await self.stuck("persisting")
        self.kept.append(state.step_ordinal)


def run_of(callbacks: Callbacks) -> RunSetup:
    """A walk of three attempts: `a` fails at first."""
    nodes = NodeRegistry()

    @nodes.node()
    async def a(call: NodeCall) -> NodeOutcome:
        await callbacks.stuck("executing")
        return succeeded("b", data={"a": True}) if call.state.step_ordinal > 1 else failed("flaky")

    @nodes.node()
    async def b(call: NodeCall) -> NodeOutcome:
        return succeeded(data={"b": call.state.data["a"]})

    context = NodeEngineContext(node_name="a", seed=7, run_id="r1", policies=POLICIES)
    return set_up(nodes, context, callbacks=callbacks, log=lambda level, message, fields: None)


async def run_until_killed(where: str, ready: Path, journal: str) -> None:
    """The worker that is killed."""
    store = SqlJournal(Path(journal))
    worker = Worker(JournalLeases(store, ttl_ms=TTL_MS), name="ann", driver="statechart", journal=store, ttl_ms=TTL_MS)
    setup = run_of(Callbacks(where, ready))

    def observe(event: str, data: Mapping[str, Any]) -> None:
        if event == "RETRY_SCHEDULED" and where == "waiting_retry":
            ready.touch()

    await worker.run(RunSetup(setup.context, setup.ports, observe, setup.log))


async def take_over(store: SqlJournal, callbacks: Callbacks) -> RunReport:
    """The other worker: it comes again and again until the lease of the first has run out."""
    worker = Worker(JournalLeases(store), name="bob", driver="statechart", journal=store)
    async with asyncio.timeout(180):
        while True:
            try:
                return await worker.run(run_of(callbacks))
            except LeaseTaken as taken:
                assert taken.owner == "ann"
                await asyncio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "kept"), [("executing", [1, 2, 3]), *further(("persisting", [1, 2, 3]), ("waiting_retry", [2, 3]))]
)
async def test_a_killed_run_goes_on_at_another_worker(where: str, kept: list[int], tmp_path: Path) -> None:
    file, ready = tmp_path / "journal.db", tmp_path / "ready"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, where, str(file), str(Path(__file__).parent), cwd=tmp_path
    )
    try:
        async with asyncio.timeout(180):
            while not ready.exists():
                assert process.returncode is None, "it ended by itself"
                await asyncio.sleep(0.01)
    finally:
        process.kill()
        await process.wait()
    store, callbacks = SqlJournal(file), Callbacks()
    try:
        report = await take_over(store, callbacks)
        assert (report.outcome, report.state.data) == ("finished", {"a": True, "b": True})
        assert report.state.step_ordinal == 3, "the attempt at work is made again, with its number"
        assert callbacks.kept == kept
        again = await Worker(JournalLeases(store), journal=store, driver="statechart").run(run_of(Callbacks()))
        assert again == report, "a run that has ended has ended"
    finally:
        await store.aclose()
