"""Statements of the hot path: compiled once per database, because SQLAlchemy takes longer for each than SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Engine

Values = Mapping[str, Any]


class Done(Protocol):
    """What is known of a statement that was carried out: how many rows it has changed."""

    @property
    def rowcount(self) -> int: ...


Run = Callable[[Connection | sqlite3.Connection, Values | Sequence[Values]], Done]
"""Carries a statement out with its values by name, or with several sets of them; on SQLite also on the driver's own
connection."""

_PASSED_ON: Final = "sqlite"
"""A database whose driver takes our values (texts, numbers, bytes, None) as they are."""


def prepared(engine: Engine, statement: Any) -> Run:
    """The statement, ready for this database.

    SQLite's driver is given the text and the values in the order of its question marks, in the engine's own
    transaction; its errors are the driver's. Other databases take seconds of network for each millisecond that this
    would save.

    Raises:
        SQLAlchemyError, sqlite3.Error: The statement cannot be carried out.
    """
    if engine.dialect.name != _PASSED_ON:
        return lambda connection, values: _executed(connection, statement, values)  # type: ignore[arg-type]
    compiled = statement.compile(dialect=engine.dialect)
    text, names = str(compiled), tuple(compiled.positiontup)

    def run(connection: Connection | sqlite3.Connection, values: Values | Sequence[Values]) -> Done:
        driver: Any = connection
        if not isinstance(connection, sqlite3.Connection):
            driver = connection.connection.driver_connection
        if isinstance(values, Mapping):
            done: Done = driver.execute(text, [values[name] for name in names])
        else:
            done = driver.executemany(text, [[one[name] for name in names] for one in values])
        return done

    return run


def _executed(connection: Connection, statement: Any, values: Values | Sequence[Values]) -> Done:
    done: Done = connection.execute(statement, values)
    return done
