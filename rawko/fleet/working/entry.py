"""Entry point of a run's process; a worker refers to it without importing what only the process needs."""

from __future__ import annotations

from multiprocessing.connection import Connection

from rawko.fleet.working.order import Order


def begin(order: Order, pipe: Connection) -> None:
    """Carry out an order; see `rawko.fleet.working.run_process`."""
    from rawko.fleet.working.run_process import perform

    perform(order, pipe)


def do_nothing() -> None:
    """The target of a process that is started to test that processes can be started."""
