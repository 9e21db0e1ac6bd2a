"""What is used of DBOS: its client, and of its system database what claims and ends a workflow.

DBOS claims work in threads of its own and runs it in the same process, a fixed number of each queue on every worker.
Here a worker claims as many as it has room for, and runs each in a process of its own: `start_queued_workflows` is
called where DBOS's thread would call it. That is below DBOS's public interface, so that `check` compares what is
installed with what is needed before anything is touched.
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
"""Of DBOS's tables: apart from those of an application of the user's own in the same database."""
APPLICATION: Final = "rawko"
VERSIONS: Final = tuple(f"rawko-fleet-{number}" for number in range(FORMAT, 0, -1))
"""The application versions whose tasks are taken here, the present one first. They name the format of a task, not the
code: a deploy strands no run."""
VERSION: Final = VERSIONS[0]
WORKFLOW: Final = "rawko_run"
_NEEDED: Final = {
    "start_queued_workflows": {"queue", "executor_id", "app_version", "queue_partition_key", "owner_xid"},
    "get_queue_partitions": {"queue_name"},
    "get_queue": {"name"},
    "run_migrations": set[str](),
}
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
    """DBOS's client over an engine; nothing is connected yet.

    Raises:
        FleetError: Another version of DBOS is installed.
    """
    logging.getLogger("dbos").setLevel(logging.CRITICAL)  # what matters of its messages comes as errors
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
    """Make sure that DBOS has what is used of it.

    Raises:
        FleetError: It has not; says which versions do.
    """
    database = getattr(client, "_sys_db", None)
    problems = [] if database is not None else ["no system database"]
    for name, wanted in _NEEDED.items() if database is not None else ():
        call = getattr(database, name, None)
        if call is None or not wanted <= set(inspect.signature(call).parameters):
            problems.append(f"{name}() is another")
    columns = set() if database is None else set(database.tables.workflow_status.c.keys())
    problems += [f"no column {name!r}" for name in sorted(_COLUMNS - columns) if database is not None]
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
    """A queue as DBOS has read it, for a claim of so many: how many are at work here is the caller's to know."""
    queue._worker_concurrency = count
    return queue


def limits_of(queue: Any) -> QueueLimits:
    """The bounds of a queue as DBOS has read it; its public accessors would read it again for each."""
    limiter = queue._limiter
    starts, period_s = (None, 60.0) if limiter is None else (limiter["limit"], limiter["period"])
    return QueueLimits(queue._concurrency, queue._partition_concurrency, starts, period_s)


def is_of_dbos(error: Exception) -> bool:
    """Whether DBOS raised an error of its own, rather than one of the database or of Python."""
    return type(error).__module__.partition(".")[0] == "dbos"
