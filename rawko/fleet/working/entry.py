"""Where the process of a run begins: a worker names it without loading what only its processes need."""

from __future__ import annotations

from multiprocessing.connection import Connection

from rawko.fleet.working.order import Order


def begin(order: Order, pipe: Connection) -> None:
    """Carry out an order; see `rawko.fleet.working.run_process`."""
    from rawko.fleet.working.run_process import perform

    perform(order, pipe)


def do_nothing() -> None:
    """The target of a process that is started to see that processes can be."""
