"""The parts of DBOS that are used: its client, and the functions of its system database that claim and end workflows.

DBOS claims work in its own threads and runs it in the same process, a fixed number per queue on every worker. Here a
worker claims as many runs as it has free slots, and runs each in its own process: so it calls `start_queued_workflows`
itself. That is below DBOS's public interface; therefore `check` compares the installed version with what is needed
before anything else is done.
"""

from __future__ import annotations

import inspect
import logging
from importlib.metadata import version
from typing import Any, Final

from sqlalchemy import Engine

from rawko.fleet.engine import QueueLimits
from rawko.fleet.errors import FleetError
from rawko.fleet.task import FORMAT

SCHEMA: Final = "rawko_fleet_dbos"
"""Schema of DBOS's tables: separate from those of a user's own application in the same database."""
APPLICATION: Final = "rawko"
VERSIONS: Final = tuple(f"rawko-fleet-{number}" for number in range(FORMAT, 0, -1))
"""The application versions whose tasks are claimed here, the present one first. They name the format of a task, not
the code, so that a deployment strands no run.
"""
VERSION: Final = VERSIONS[0]
WORKFLOW: Final = "rawko_run"
_NEEDED: Final = {
    "start_queued_workflows": {"queue", "executor_id", "app_version", "queue_partition_key", "owner_xid"},
    "get_queue_partitions": {"queue_name"},
    "get_queue": {"name"},
    "run_migrations": set[str](),
}
TABLES: Final = ("workflow_input", "workflow_output", "operation_outputs", "workflow_status")
"""The tables with rows of a run to which no foreign key leads, and the table of runs."""
_COLUMNS: Final = {
    "workflow_uuid",
    "status",
    "queue_name",
    "queue_partition_key",
    "executor_id",
    "owner_xid",
    "priority",
    "output",
    "delay_until_epoch_ms",
    "started_at_epoch_ms",
    "completed_at",
    "updated_at",
}


def client_of(engine: Engine) -> Any:
    """DBOS's client for an engine; opens no connection yet.

    Raises:
        FleetError: An unsuitable version of DBOS is installed.
    """
    logging.getLogger("dbos").setLevel(logging.CRITICAL)  # relevant failures are raised as errors
    from dbos import DBOSClient

    client = DBOSClient(
        system_database_engine=engine,
        dbos_system_schema=SCHEMA,
        application_name=APPLICATION,
        lazy=True,
        retry_connection_errors=False,
    )
    check(client)
    return client


def check(client: Any) -> None:
    """Check that DBOS has the functions that are used.

    Raises:
        FleetError: It lacks one; the message names suitable versions.
    """
    database = getattr(client, "_sys_db", None)
    problems = [] if database is not None else ["no system database"]
    for name, wanted in _NEEDED.items() if database is not None else ():
        call = getattr(database, name, None)
        if call is None or not wanted <= set(inspect.signature(call).parameters):
            problems.append(f"{name}() is another")
    columns = set() if database is None else set(database.tables.workflow_status.c.keys())
    problems += [f"no column {name!r}" for name in sorted(_COLUMNS - columns) if database is not None]
    tables = None if database is None else database.tables
    problems += [f"no table {name!r}" for name in TABLES if tables is not None and not hasattr(tables, name)]
    if problems:
        raise FleetError(
            f"dbos {version('dbos')} is not one that rawko's fleet works with ({'; '.join(problems)}); "
            "accepted: pip install 'rawko[fleet]', which brings dbos 3.4"
        )


def system(client: Any) -> Any:
    """DBOS's system database behind a client."""
    return client._sys_db


def now_ms(system: Any) -> Any:
    """The database's clock in milliseconds, as an expression of SQL."""
    return system._now_ms_sql()


def for_one_claim(queue: Any, count: int) -> Any:
    """A queue read by DBOS, set to claim `count` runs: the caller knows how many slots are free."""
    queue._worker_concurrency = count
    return queue


def limits_of(queue: Any) -> QueueLimits:
    """The bounds of a queue read by DBOS; its public accessors would read the queue again for each bound."""
    limiter = queue._limiter
    starts, period_s = (None, 60.0) if limiter is None else (limiter["limit"], limiter["period"])
    return QueueLimits(queue._concurrency, queue._partition_concurrency, starts, period_s)


def is_of_dbos(error: Exception) -> bool:
    """Whether an error class is DBOS's own, rather than the database's or Python's."""
    return type(error).__module__.partition(".")[0] == "dbos"
