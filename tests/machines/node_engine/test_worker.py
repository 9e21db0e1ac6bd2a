"""Leases over a journal, and the worker that loses one (NE-011)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawko.interpreter.clocks import SimulatedClock
from rawko.machines.node_engine import (
    NodeCall,
    NodeEngineContext,
    NodeOutcome,
    NodePolicy,
    NodeRegistry,
    Policies,
    RetryPolicy,
    StopCheck,
    failed,
    succeeded,
)
from rawko.machines.node_engine.drivers.choice import DRIVERS, DriverName
from rawko.machines.node_engine.drivers.setup import RunSetup, set_up
from rawko.machines.node_engine.drivers.worker import LEASE_LOST, Worker, is_at_work, worker_name
from rawko.machines.node_engine.errors import LeaseLost, LeaseTaken
from rawko.machines.node_engine.leases import JournalLeases, Lease
from rawko.machines.node_engine.ports import NoCallbacks
from rawko.runtime import JournalError, MemoryJournal, StepRecord
from rawko.runtime.session import LogWriter

# ---------------------------------------------------------------- leases


async def test_a_run_belongs_to_one_worker_at_a_time() -> None:
    leases = JournalLeases(MemoryJournal(), ttl_ms=1_000)
    first = await leases.acquire("r1", "ann", 0)
    assert (first.owner, first.expires_at_ms) == ("ann", 1_000)
    with pytest.raises(LeaseTaken, match="run 'r1' is leased by worker 'ann' until 1000") as caught:
        await leases.acquire("r1", "bob", 999)
    assert (caught.value.owner, caught.value.expires_at_ms) == ("ann", 1_000)
    assert (await leases.acquire("r2", "bob", 0)).owner == "bob", "runs are independent"
    renewed = await leases.renew(first, 900)
    with pytest.raises(LeaseTaken):
        await leases.acquire("r1", "bob", 1_500)
    await leases.release(renewed, 1_600)
    assert (await leases.acquire("r1", "bob", 1_600)).owner == "bob"


async def test_a_lease_that_ran_out_goes_to_the_next_and_its_owner_finds_out() -> None:
    leases = JournalLeases(MemoryJournal(), ttl_ms=1_000)
    old = await leases.acquire("r1", "ann", 0)
    new = await leases.acquire("r1", "bob", 1_000)
    assert new.epoch > old.epoch
    for late in (leases.renew, leases.release):
        with pytest.raises(LeaseLost, match="does not belong to 'ann' any more"):
            await late(old, 1_001)
    assert (await leases.renew(new, 1_500)).expires_at_ms == 2_500


async def test_a_worker_that_was_killed_takes_its_own_run_again_at_once() -> None:
    leases = JournalLeases(MemoryJournal(), ttl_ms=1_000)
    before = await leases.acquire("r1", "ann", 0)
    await leases.acquire("r1", "ann", 10)
    with pytest.raises(LeaseLost):
        await leases.renew(before, 20)


async def test_the_lease_of_a_worker_that_is_dead_is_not_waited_for_and_goes_to_one() -> None:
    leases = JournalLeases(Slow(), ttl_ms=1_000)
    await leases.acquire("r1", "ann", 0)
    with pytest.raises(LeaseTaken):
        await leases.acquire("r1", "bob", 10, dead="cid")
    tries = [leases.acquire("r1", name, 10, dead="ann") for name in ("bob", "cid")]
    got = [one for one in await asyncio.gather(*tries, return_exceptions=True) if isinstance(one, Lease)]
    assert len(got) == 1
    with pytest.raises(LeaseTaken, match=f"leased by worker '{got[0].owner}'"):
        await leases.acquire("r1", "dan", 20, dead="ann")


class Slow(MemoryJournal):
    """A journal where others get a turn in the middle of every call."""

    async def begin(self, run: str) -> int:
        epoch = await super().begin(run)
        await asyncio.sleep(0)
        return epoch

    async def append(self, record: StepRecord) -> None:
        await asyncio.sleep(0)
        await super().append(record)


async def test_of_workers_that_come_at_once_one_gets_the_run() -> None:
    leases = JournalLeases(Slow(), ttl_ms=1_000)
    tries = [leases.acquire("r1", name, 0) for name in "abcdef"]
    got = [one for one in await asyncio.gather(*tries, return_exceptions=True) if isinstance(one, Lease)]
    assert len(got) == 1
    assert (await leases.renew(got[0], 10)).owner == got[0].owner


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["acquire", "renew", "release"]), st.integers(0, 700)))
)
def test_at_no_time_do_two_workers_hold_one_run(steps: list[tuple[str, str, int]]) -> None:
    async def play() -> None:
        leases = JournalLeases(MemoryJournal(), ttl_ms=1_000)
        held: dict[str, Lease] = {}
        now = 0
        for owner, what, later in steps:
            now += later
            try:
                if what == "acquire":
                    held[owner] = await leases.acquire("r1", owner, now)
                elif owner in held and what == "renew":
                    held[owner] = await leases.renew(held[owner], now)
                elif owner in held:
                    await leases.release(held.pop(owner), now)
            except LeaseLost:
                held.pop(owner, None)
            except LeaseTaken as taken:
                assert held[taken.owner].expires_at_ms > now
            assert sum(lease.expires_at_ms > now for lease in held.values()) <= 1

    asyncio.run(play())


# ---------------------------------------------------------------- the worker


def quiet(level: str, message: str, fields: Mapping[str, Any]) -> None:
    pass


def teller(told: list[str]) -> LogWriter:
    """A log that keeps the messages."""
    return lambda level, message, fields: told.append(message)


def run_of(handler: Any, **more: Any) -> RunSetup:
    nodes = NodeRegistry()
    nodes.node("a")(handler)
    policies = Policies(default=NodePolicy(retry=RetryPolicy(base_ms=0, cap_ms=0, max_retries=1_000_000)))
    context = NodeEngineContext(node_name="a", seed=7, run_id="r1", policies=policies, check_every_ms=10)
    return set_up(nodes, context, log=quiet, **more)


def worker(leases: JournalLeases, driver: DriverName, **more: Any) -> Worker:
    return Worker(leases, name="ann", driver=driver, ttl_ms=leases.ttl_ms, **{"log": quiet, **more})


async def good(call: NodeCall) -> NodeOutcome:
    return succeeded()


each_driver = pytest.mark.parametrize("driver", DRIVERS)


@each_driver
async def test_the_lease_is_held_during_the_run_and_given_back(driver: DriverName) -> None:
    leases = JournalLeases(MemoryJournal())
    seen: list[str] = []

    async def looks(call: NodeCall) -> NodeOutcome:
        try:
            await leases.acquire("r1", "bob", 0)
        except LeaseTaken as taken:
            seen.append(taken.owner)
        return succeeded()

    report = await worker(leases, driver).run(run_of(looks))
    assert (report.outcome, seen) == ("finished", ["ann"])
    assert (await leases.acquire("r1", "bob", 2**52)).owner == "bob"


@each_driver
async def test_a_run_that_another_worker_has_is_left_alone(driver: DriverName) -> None:
    leases = JournalLeases(MemoryJournal())
    begun: list[str] = []

    async def handler(call: NodeCall) -> NodeOutcome:
        begun.append(call.node)
        return succeeded()

    await leases.acquire("r1", "bob", 2**52)
    with pytest.raises(LeaseTaken):
        await worker(leases, driver).run(run_of(handler))
    assert begun == []


@pytest.mark.parametrize(("driver", "times"), [("statechart", 1), ("runner", 2)])
async def test_only_the_statechart_goes_on_from_the_journal(driver: DriverName, times: int) -> None:
    begun: list[str] = []

    async def handler(call: NodeCall) -> NodeOutcome:
        begun.append(call.node)
        return succeeded()

    journal = MemoryJournal()
    leases = JournalLeases(MemoryJournal())
    for _ in range(2):
        report = await worker(leases, driver, journal=journal).run(run_of(handler))
        assert report.outcome == "finished"
    assert begun == ["a"] * times


@each_driver
async def test_a_lease_is_renewed_as_long_as_the_run_goes_on(driver: DriverName) -> None:
    leases = JournalLeases(MemoryJournal(), ttl_ms=450)

    async def slow(call: NodeCall) -> NodeOutcome:
        await asyncio.sleep(0.6)
        return succeeded()

    assert (await worker(leases, driver).run(run_of(slow))).outcome == "finished"


@each_driver
async def test_a_lost_lease_stops_the_run_before_its_next_effect(driver: DriverName) -> None:
    journal = MemoryJournal()
    leases = JournalLeases(journal, ttl_ms=300)
    thief = JournalLeases(journal, ttl_ms=10**9)
    ended: list[str] = []
    kept: list[str] = []
    told: list[str] = []

    class Callbacks(NoCallbacks):
        async def on_persist(self, *_: Any) -> None:
            kept.append("kept")

    async def slow(call: NodeCall) -> NodeOutcome:
        await thief.acquire("r1", "bob", 2**52)
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("ended")
        return succeeded()

    report = await worker(leases, driver, log=teller(told)).run(run_of(slow, callbacks=Callbacks()))
    assert (report.outcome, report.reason) == ("stopped", LEASE_LOST)
    assert (ended, kept) == (["ended"], []), "the attempt is stopped, and nothing is written any more"
    assert told == ["The lease is lost: the run stops"]
    with pytest.raises(LeaseTaken, match="bob"):
        await leases.acquire("r1", "ann", 2**52)


@each_driver
async def test_a_lease_that_ran_out_unseen_is_seen_before_anything_is_written(driver: DriverName) -> None:
    clock = SimulatedClock()
    leases = JournalLeases(MemoryJournal(), ttl_ms=10_000)
    attempts: list[int] = []

    async def suspended(call: NodeCall) -> NodeOutcome:
        attempts.append(call.state.step_ordinal)
        clock.time += 11  # the process slept, its heartbeat too
        return failed("again")

    class Persisting(NoCallbacks):
        async def on_persist(self, *_: Any) -> None:
            raise AssertionError("written without the lease")

    report = await worker(leases, driver, clock=clock).run(run_of(suspended, callbacks=Persisting()))
    assert attempts == [1]
    assert (report.outcome, report.reason) == ("stopped", "lease_lost")
    assert report.error is not None
    assert "does not belong to 'ann' any more" in report.error.message


class Broken(MemoryJournal):
    """A journal that cannot be written after the first word."""

    async def append(self, record: StepRecord) -> None:
        if record.seq > 1:
            raise JournalError("disk full")
        await super().append(record)


@each_driver
async def test_a_lease_that_cannot_be_renewed_holds_until_it_runs_out(driver: DriverName) -> None:
    told: list[str] = []

    async def slow(call: NodeCall) -> NodeOutcome:
        await asyncio.sleep(3600)
        return succeeded()

    report = await worker(JournalLeases(Broken(), ttl_ms=1_500), driver, log=teller(told)).run(run_of(slow))
    assert (report.outcome, report.reason) == ("stopped", LEASE_LOST)
    assert "disk full" in told[0]


@each_driver
async def test_whoever_else_may_stop_the_run_is_asked_too(driver: DriverName) -> None:
    async def should_stop() -> StopCheck:
        return StopCheck(stop=True, reason="cancelled by ann")

    report = await worker(JournalLeases(MemoryJournal()), driver).run(run_of(good, should_stop=should_stop))
    assert (report.outcome, report.reason) == ("stopped", "cancelled by ann")


def test_workers_have_names_of_their_own() -> None:
    assert worker_name() != worker_name()


# ---------------------------------------------------------------- being asked from outside


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_worker_stops_a_run_wherever_it_is(driver: DriverName) -> None:
    begun = asyncio.Event()
    nodes = NodeRegistry()

    @nodes.node()
    async def endless(call: NodeCall) -> NodeOutcome:
        begun.set()
        await asyncio.Event().wait()
        return succeeded()

    context = NodeEngineContext(node_name="endless", seed=1, run_id="r1")
    worker = Worker(JournalLeases(MemoryJournal()), driver=driver)
    assert not worker.stop("r1"), "it is not at work yet"
    running = asyncio.create_task(worker.run(set_up(nodes, context, log=lambda level, message, fields: None)))
    await asyncio.wait_for(begun.wait(), 180)
    assert not worker.stop("another")
    assert worker.stop("r1", "enough")
    report = await asyncio.wait_for(running, 180)
    assert (report.outcome, report.reason) == ("stopped", "enough")
    assert not worker.stop("r1"), "it is not at work any more"


def test_whether_a_worker_of_this_machine_is_alive() -> None:
    mine = worker_name()
    assert is_at_work(mine) is True
    host, _, _ = mine.rpartition(":")[0].rpartition(":")
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    assert is_at_work(f"{host}:{int(gone.stdout)}:abc") is False
    assert is_at_work(f"elsewhere.{host}:1:abc") is None
    for odd in ("", "ann", f"{host}:x:y", ":::"):
        assert is_at_work(odd) is None
