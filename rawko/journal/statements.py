"""Statements of the hot path: compiled once per database, because SQLAlchemy takes longer for each than SQLite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Engine, Executable

Values = Mapping[str, Any]
Run = Callable[[Connection, Values | Sequence[Values]], CursorResult[Any]]
"""Carries a statement out with its values by name, or with several sets of them."""

_PASSED_ON: Final = "sqlite"
"""A database whose driver takes our values (texts, numbers, bytes, None) as they are."""


def prepared(engine: Engine, statement: Any) -> Run:
    """The statement, ready for this database.

    SQLite is given the text and the values in the order of its question marks, in the engine's own transaction; its
    errors are SQLAlchemy's as ever. Other databases take seconds of network for each millisecond that this would save.
    """
    if engine.dialect.name != _PASSED_ON:
        return lambda connection, values: _executed(connection, statement, values)
    compiled = statement.compile(dialect=engine.dialect)
    text, names = str(compiled), tuple(compiled.positiontup)

    def run(connection: Connection, values: Values | Sequence[Values]) -> CursorResult[Any]:
        if isinstance(values, Mapping):
            return connection.exec_driver_sql(text, tuple(values[name] for name in names))
        return connection.exec_driver_sql(text, [tuple(one[name] for name in names) for one in values])

    return run


def _executed(connection: Connection, statement: Executable, values: Values | Sequence[Values]) -> CursorResult[Any]:
    found: CursorResult[Any] = connection.execute(statement, values)
    return found
