"""Connections to PostgreSQL that the parts of one process share, and statements that stand by themselves.

A run of a fleet has its journal, its packs and its limits in one database. Each with an engine of its own opens one to
two connections, at some 10 ms of processor time each, and each holds a process of the server for as long as the run
goes on. Shared, they mostly take turns on one.

    share(url)              from now on the parts of this process that open this address get one engine
    shared(url)             that engine; None: the part makes one of its own
    by_itself(engine, …)    one statement, committed with it: one journey to the server, where a transaction takes three
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

DRIVER: Final = "postgresql+psycopg"
READING: Final = "rawko_is_reading"
"""The option of an engine whose transactions only read: all that one reads is of one moment."""
_CONNECT_S: Final = 5
_LOCK_MS: Final = 20_000
"""A process that was frozen in the middle of a transaction must not hold up others for ever."""
_engines: dict[str, Engine] = {}


def share(url: URL) -> Engine:
    """Have all parts of this process that open an address share one engine; nothing is connected yet.

    Meant for a process that ends with what it does: the engine is never disposed of.
    """
    url = url.set(drivername=DRIVER)
    known = _engines.get(_key(url))
    if known is not None:
        return known
    arguments: dict[str, str | int | bool] = {
        "connect_timeout": _CONNECT_S,
        "options": f"-c lock_timeout={_LOCK_MS}",
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 15_000,
        "autocommit": True,
    }
    arguments = {name: value for name, value in arguments.items() if name not in url.query}
    # No ping before each use: it is a journey to the server for each. What fails is tried again by each part anyway.
    engine = create_engine(
        url, connect_args=arguments, pool_size=1, max_overflow=4, pool_use_lifo=True, use_native_hstore=False
    )
    event.listen(engine, "begin", _begun)
    _engines[_key(url)] = engine
    return engine


def shared(url: URL) -> Engine | None:
    """The engine that is shared for an address, if one is."""
    return _engines.get(_key(url)) if _engines else None


def is_shared(engine: Engine) -> bool:
    """Whether other parts use it: then it is not for one of them to close."""
    return any(one is engine for one in _engines.values())


def by_itself(engine: Engine, statement: str, values: Mapping[str, Any] | None = None) -> Any:
    """Carry out one statement of psycopg, which stands or falls by itself; its cursor, with all rows.

    Args:
        statement: With `%(name)s` for the values; without values it may be several, separated by `;`.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: As of any other statement.
    """
    from psycopg import Error

    try:
        fairy = engine.raw_connection()
    except Error as error:
        raise DBAPIError.instance(None, None, error, Error) from error
    driver: Any = fairy.driver_connection
    was_each = driver.autocommit
    try:
        if not was_each:
            driver.autocommit = True
        return driver.execute(statement, values)
    except Error as error:
        is_broken = bool(driver.closed or driver.broken)
        if is_broken:
            fairy.invalidate(error)
        raise DBAPIError.instance(statement, None, error, Error, connection_invalidated=is_broken) from error
    finally:
        if not was_each and not (driver.closed or driver.broken):
            driver.rollback()
            driver.autocommit = False
        fairy.close()


def _key(url: URL) -> str:
    return url.set(drivername=DRIVER).render_as_string(hide_password=False)


def _begun(connection: Connection) -> None:
    is_reading = connection.get_execution_options().get(READING, False)
    driver: Any = connection.connection.driver_connection
    driver.execute("BEGIN ISOLATION LEVEL REPEATABLE READ" if is_reading else "BEGIN")
