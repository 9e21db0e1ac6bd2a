"""The worker: drives one run under a lease. Losing the lease stops the run before its next call of a callback."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from rawko.interpreter.clocks import Clock, WallClock
from rawko.machines.node_engine.context import REQUESTED, RunReport, RunState, StopCheck
from rawko.machines.node_engine.drivers.choice import DriverName, driver_name, make_driver
from rawko.machines.node_engine.drivers.setup import Driver, RunSetup
from rawko.machines.node_engine.drivers.statechart import StatechartDriver
from rawko.machines.node_engine.errors import LeaseLost
from rawko.machines.node_engine.leases import TTL_MS, Lease, Leases
from rawko.machines.node_engine.ports import NodeEnginePorts, callbacks_called
from rawko.machines.node_engine.results import EngineResult
from rawko.runtime.errors import JournalError
from rawko.runtime.journal import Journal
from rawko.runtime.session import LogWriter, write_log

LEASE_LOST: Final = "lease_lost"
"""Stop reason of a run whose lease was taken by another worker, or could not be renewed in time."""

_REFUSED: Final = frozenset({"persist_failed", "report_failed"})
"""Failure reasons of a run whose callback was refused; see `HeldLease.require`."""

BEATS: Final = 3
"""Heartbeats per lifetime of a lease: two may fail before it expires."""


def worker_name() -> str:
    """A name that no other worker has: host, process id and a random part."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


def is_at_work(name: str) -> bool | None:
    """Whether the process of a worker, named by `worker_name`, is alive; None if it cannot be checked from this
    host."""
    host, _, rest = name.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdecimal():
        return None
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Worker:
    """Drives runs, each under a lease that it renews while the run lasts (NE-011).

    Args:
        name: Unique among all workers that share the leases.
        driver: None: the one that AGENT_DRIVER names.
        journal: Where the driver `statechart` commits its steps; a run that is already in it is resumed. The driver
            `runner` does not use it: its runs are resumed from states that `on_persist` got.
        ttl_ms: Lifetime of the leases; a third of it is between two heartbeats.
    """

    def __init__(
        self,
        leases: Leases,
        *,
        name: str | None = None,
        driver: DriverName | None = None,
        journal: Journal | None = None,
        ttl_ms: int = TTL_MS,
        clock: Clock | None = None,
        log: LogWriter | None = None,
    ) -> None:
        self.name = name or worker_name()
        self._leases = leases
        self._driver = driver
        self._journal = journal
        self._ttl_ms = ttl_ms
        self._clock = WallClock() if clock is None else clock
        self._log = log or write_log
        self._at_work: dict[str, Driver] = {}

    def stop(self, run_id: str, reason: str = REQUESTED) -> bool:
        """Ask a run to stop; False where this worker does not drive the run."""
        driver = self._at_work.get(run_id)
        if driver is not None:
            driver.stop(reason)
        return driver is not None

    async def run(self, setup: RunSetup, *, dead: str | None = None) -> RunReport:
        """Take the run's lease, drive the run to its end, release the lease.

        Args:
            dead: A worker that is known to have ended; its lease counts as expired.

        Raises:
            LeaseTaken: Another worker has the run; nothing was done.
            JournalError: The lease could not be written, or the run's journal not be read.
            ReplayError: The run's journal was written with another setup.
        """
        lease = await self._leases.acquire(setup.context.run_id, self.name, self._now_ms(), dead=dead)
        held = HeldLease(lease, self._clock)
        try:
            return held.with_reason(await self._drive(replace(setup, ports=held.guarding(setup.ports)), held))
        finally:
            await self._give_back(held)

    async def _drive(self, setup: RunSetup, held: HeldLease) -> RunReport:
        driver = await self._driver_of(setup)
        self._at_work[held.lease.run_id] = driver
        beating = asyncio.create_task(self._beat(held, driver), name=f"heartbeat {held.lease.run_id}")
        try:
            return await driver.run()
        finally:
            del self._at_work[held.lease.run_id]
            beating.cancel()
            await asyncio.wait([beating])

    async def _driver_of(self, setup: RunSetup) -> Driver:
        name = self._driver or driver_name()
        if name == "statechart" and self._journal is not None:
            return await StatechartDriver.resumed(setup, self._journal)
        return make_driver(setup, name)

    async def _beat(self, held: HeldLease, driver: Driver) -> None:
        """Renew the lease until it is lost; then stop the run."""
        while held.holds:
            await asyncio.sleep(self._ttl_ms / BEATS / 1000)
            try:
                held.lease = await self._leases.renew(held.lease, self._now_ms())
            except LeaseLost:
                held.is_lost = True
            except Exception as error:  # noqa: BLE001 - the port failed; the lease still lasts until it expires
                self._tell(held, "warning", f"The lease was not renewed: {error!r}")
        held.is_lost = True
        self._tell(held, "error", "The lease is lost: the run stops")
        driver.stop(LEASE_LOST)

    async def _give_back(self, held: HeldLease) -> None:
        if held.is_lost:
            return
        try:
            await self._leases.release(held.lease, self._now_ms())
        except (LeaseLost, JournalError) as error:  # the lease expires by itself; the run's report stays valid
            self._tell(held, "warning", f"The lease was not given back: {error}")

    def _now_ms(self) -> int:
        return int(self._clock.time * 1000)

    def _tell(self, held: HeldLease, level: str, message: str) -> None:
        fields = {"module": "agent", "actor": "worker", "run_id": held.lease.run_id, "worker": self.name}
        self._log(level, message, fields)


class HeldLease:
    """A lease in use; wraps a run's ports so that they check it.

    Attributes:
        is_lost: Another worker has taken the lease, or it expired; never reset.
    """

    def __init__(self, lease: Lease, clock: Clock) -> None:
        self.lease = lease
        self.is_lost = False
        self._clock = clock

    @property
    def holds(self) -> bool:
        """Whether the lease is neither lost nor expired. A process that was suspended detects the expiry here."""
        return not self.is_lost and int(self._clock.time * 1000) < self.lease.expires_at_ms

    def require(self) -> None:
        """Check the lease.

        Raises:
            LeaseLost: The lease is lost or expired.
        """
        if not self.holds:
            self.is_lost = True
            raise LeaseLost(self.lease.run_id, self.lease.owner)

    def with_reason(self, report: RunReport) -> RunReport:
        """The report, with LEASE_LOST as the reason even where a refused callback detected the loss before the
        heartbeat."""
        if not self.is_lost or report.reason not in _REFUSED:
            return report
        return report.model_copy(update={"outcome": "stopped", "reason": LEASE_LOST})

    def guarding(self, ports: NodeEnginePorts) -> NodeEnginePorts:
        """The ports, with the lease checked in `should_stop` and before each callback."""

        async def should_stop() -> StopCheck:
            if not self.holds:
                self.is_lost = True
                return StopCheck(stop=True, reason=LEASE_LOST)
            return await ports.should_stop()

        callbacks = _Guarded(self, ports)
        return replace(ports, callbacks=callbacks, should_stop=should_stop, called=callbacks_called(ports))


class _Guarded:
    """Callbacks that are called only while the lease holds."""

    def __init__(self, held: HeldLease, ports: NodeEnginePorts) -> None:
        self._held = held
        self._callbacks = ports.callbacks

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        self._held.require()
        await self._callbacks.on_persist(state, events, node_name)

    async def on_attempt(self, result: EngineResult) -> None:
        self._held.require()
        await self._callbacks.on_attempt(result)
