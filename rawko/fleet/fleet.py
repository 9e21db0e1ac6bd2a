"""The fleet as commands and workers use it: one class that joins the calls of `rawko.fleet.calls`.

What a call does belongs to its module in `rawko.fleet.calls`; how rows are read and written to `rawko.fleet.records`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Engine as Database
from sqlalchemy.engine import URL

from rawko.app.records.run_names import new_id
from rawko.extras import require
from rawko.fleet.calls.claiming import Claiming
from rawko.fleet.calls.ending import Ending
from rawko.fleet.calls.living_workers import LivingWorkers
from rawko.fleet.calls.looking_up import LookingUp
from rawko.fleet.calls.messaging import Messaging
from rawko.fleet.calls.pruning import Pruning
from rawko.fleet.calls.queues import Queues
from rawko.fleet.calls.submitting import Submitting
from rawko.fleet.database import fleet_errors, fleet_url, open_database, shown
from rawko.fleet.limits.store import LimitStore
from rawko.fleet.schema import has_queue, prepare


class Fleet(Submitting, LookingUp, Claiming, Ending, LivingWorkers, Messaging, Queues, Pruning):
    """The fleet of one database. Not thread-safe; every call blocks.

    Raises:
        FleetError: In every call: the database cannot be reached (`is_retryable`), or the request is not possible.
    """

    def __init__(self, url: URL, database: Database, *, new_run: Callable[[], str] = new_id) -> None:
        super().__init__(url, database, new_run=new_run)
        self.call_limits = LimitStore(url, database)

    @classmethod
    def open(cls, environ: Mapping[str, str], *, new_run: Callable[[], str] = new_id) -> Fleet:
        """The fleet that the environment names; creates missing tables.

        Args:
            new_run: Returns ids of runs; called again if an id is in use.

        Raises:
            MissingExtra: The extra `fleet` is not installed.
        """
        require("fleet", "a fleet")
        return cls.at(fleet_url(environ), new_run=new_run)

    @classmethod
    def at(cls, url: URL, *, new_run: Callable[[], str] = new_id, is_patient: bool = False) -> Fleet:
        """As `open`, by the address of the database.

        Args:
            is_patient: The caller retries calls that fail because of a lost connection.
        """
        require("fleet", "a fleet")
        database = open_database(url, is_asked_first=not is_patient)
        try:
            with fleet_errors(url):
                with database.connect():
                    pass  # so that an unreachable server is reported before DBOS is loaded
                with database.begin() as connection:
                    prepare(connection, shown(url))
                    is_prepared = has_queue(connection)
            fleet = cls(url, database, new_run=new_run)
            if not is_prepared:
                fleet.prepare_queue()
        except BaseException:
            database.dispose()
            raise
        return fleet

    def prepare_queue(self) -> None:
        """Create the tables of the queue, or migrate them to the installed version."""
        self._engine.prepare()

    def close(self) -> None:
        """Close all connections."""
        if self._queue is not None:
            self._queue.close()
        self._database.dispose()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
