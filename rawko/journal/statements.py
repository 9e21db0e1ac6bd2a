"""Statements that are used for each row: compiled once per database, because SQLAlchemy takes longer for each than
SQLite.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Engine

Values = Mapping[str, Any]


class Done(Protocol):
    """The result of a statement: the number of rows that it changed."""

    @property
    def rowcount(self) -> int: ...


Run = Callable[[Connection | sqlite3.Connection, Values | Sequence[Values]], Done]
"""Runs a statement with its values by name, or with several sets of them; for SQLite also on the driver's own
connection.
"""

_PASSED_ON: Final = "sqlite"
"""A database whose driver accepts our values (texts, numbers, bytes, None) unchanged."""


def prepared(engine: Engine, statement: Any) -> Run:
    """The statement, compiled for this database.

    SQLite's driver gets the text and the values in the order of its question marks, in the engine's own transaction;
    its errors are the driver's. For other databases the network takes far longer than this would save.

    Raises:
        SQLAlchemyError, sqlite3.Error: The statement failed.
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
