"""The port of the queue: five verbs. What is queued is a run's id; all else about the run is in `rawko.fleet.records`.

    submit   queue a run; one that was released as done is queued again
    claim    take runs whose turn it is; what dead workers held is free again
    beat     say that a worker lives, and hear which of its claims still are its own
    release  give a claim back: done, or to be claimed again, at once or later
    limits   how many of a queue may be claimed at once, in all, per tenant, per period

`rawko.fleet.conformance` is the suite that every adapter passes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

MOST_URGENT: Final = 1000
"""Priorities go from minus this to this; the higher one is claimed first, and 0 is usual."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that a worker has taken.

    Attributes:
        token: Of this claim alone: a later claim of the same run has another one.
    """

    run: str
    queue: str
    tenant: str
    token: str


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Bounds of a queue; None: unbounded.

    Attributes:
        at_once: Runs at work, on all workers together.
        per_tenant: Runs at work of one tenant, on all workers together.
        starts: Runs begun within `period_s`, on all workers together.
    """

    at_once: int | None = None
    per_tenant: int | None = None
    starts: int | None = None
    period_s: float = 60.0


class Engine(Protocol):
    """A queue in a database. Every call is blocking; errors are `FleetError`."""

    def prepare(self) -> None:
        """Make or migrate its tables.

        Raises:
            FleetError: The database cannot be reached, or its tables are of another version.
        """
        ...

    def submit(
        self, run: str, *, queue: str, tenant: str, priority: int, delay_s: float, within: Any, is_new: bool = False
    ) -> None:
        """Queue a run, for all; nothing happens where it is queued or claimed already, but that it is kept for no name,
        and that one which waits for its time is queued at once where `delay_s` is 0.

        Args:
            priority: From -`MOST_URGENT` to `MOST_URGENT`; the higher one is claimed first, within a tenant.
            delay_s: By the database's clock.
            within: The transaction (a SQLAlchemy connection) with which it stands or falls.
            is_new: The queue has never had it.
        """
        ...

    def claim(
        self, worker: str, queues: Sequence[str], count: int, without: Collection[str] = (), kept_for: str = ""
    ) -> Sequence[Claim]:
        """Take up to so many runs. Tenants take turns; within one the higher priority, then the older, goes first.

        Args:
            without: Tenants of which nothing is taken.
            kept_for: Take, too, what is kept for this name; see `release`.
        """
        ...

    def beat(self, worker: str, claims: Collection[Claim], *, is_all: bool = False) -> Collection[Claim]:
        """Tell that the worker lives; which of its claims are still its own. Must come every `LEASE_S / 4`.

        Args:
            is_all: The worker has no other claims. What else the queue holds for it, because the answer to a claim
                was lost, is free again.
        """
        ...

    def release(
        self,
        claim: Claim,
        *,
        is_done: bool = False,
        delay_s: float = 0.0,
        keep_for: str = "",
        within: Any = None,
    ) -> bool:
        """Give a claim back; False where it is another worker's by now, and nothing was changed.

        Args:
            is_done: It is not to be claimed again, until it is submitted again; else it is, after the delay.
            keep_for: Only who claims for this name takes it from now on, until it is submitted again. "": as before.
            within: As of `submit`; None: a transaction of its own.
        """
        ...

    def withdraw(self, run: str) -> bool:
        """Take a run that no worker holds out of the queue, as the opposite of `submit`; whether it was there."""
        ...

    def limits(self, queue: str, change: QueueLimits | None = None) -> QueueLimits:
        """The bounds of a queue, after the change if there is one."""
        ...

    def living(self) -> Sequence[str]:
        """The workers that live, as far as their beats tell."""
        ...

    def forget(self, worker: str) -> None:
        """The worker ends of itself: what it still holds is free at once."""
        ...

    def close(self) -> None:
        """Give the connections back."""
        ...


LEASE_S: Final = 10.0
"""After so long without a beat a worker counts as gone, though its sessions are open: it is frozen, or cut off."""
DEAD_S: Final = 2.0
"""After so long without a beat a worker counts as gone where its session has ended: it was killed."""
