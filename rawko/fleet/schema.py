"""The tables of the fleet in a database: made where there are none, brought up to this version, refused where newer."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.schema import CreateSchema

from rawko.fleet.errors import FleetError
from rawko.fleet.limits.tables import key_limits
from rawko.fleet.tables import SCHEMA, meta, metadata

__all__ = ["FORMAT", "prepare"]

FORMAT: Final = 2
"""1: tasks, queues, letters. 2: limits of keys, budgets of tenants."""
_ONLY_NEW_TABLES: Final = (1,)
"""Formats that lack tables and are the same otherwise."""
_OF_QUEUE: Final = ("rawko_fleet_dbos.workflow_status", "rawko_fleet_lease.workers")
_PREPARING: Final = 0x7261776D
"""Of the lock that is held while tables are made."""

assert key_limits.metadata is metadata, "a module of tables must be loaded before its tables are made"


def prepare(connection: Connection, where: str) -> None:
    """Make the tables of an empty database, add those that an older version lacks; refuse those of a newer one.

    Raises:
        FleetError: See there.
    """
    found = _format(connection)
    if found == FORMAT:
        return
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _PREPARING})
    found = _format(connection)  # another process may have made them meanwhile
    if found is None:
        connection.execute(CreateSchema(SCHEMA, if_not_exists=True))
        metadata.create_all(connection)
        connection.execute(meta.insert().values(key="format", value=str(FORMAT)))
    elif found in _ONLY_NEW_TABLES:
        metadata.create_all(connection)
        connection.execute(meta.update().where(meta.c.key == "format").values(value=str(FORMAT)))
    elif found != FORMAT:
        raise FleetError(
            f"the fleet's database {where} has tables of format {found}; this rawko reads format {FORMAT}: "
            "use the version of rawko that the other workers have, or another database"
        )


def has_queue(connection: Connection) -> bool:
    """Whether the queue has its tables."""
    names = " ".join(f"to_regclass('{table}') IS NOT NULL AND" for table in _OF_QUEUE)
    return bool(connection.scalar(text(f"SELECT {names} true")))


def _format(connection: Connection) -> int | str | None:
    """What the database says; None where there are no tables."""
    if not inspect(connection).has_table("meta", schema=SCHEMA):
        return None
    value = connection.scalar(select(meta.c.value).where(meta.c.key == "format"))
    return int(value) if value is not None and value.isdigit() else str(value)
