"""A row of a run committed in PostgreSQL by one statement: one journey to the server, where a transaction takes five.

    UPDATE runs       whose turn it is: no row where the epoch or the order is another, and then nothing is written
    INSERT blobs      the texts that stand apart, for the row of that UPDATE
    INSERT uses       which run needs them
    INSERT steps      the row itself

It stands or falls as a whole, as a transaction does. Where it fails, for whatever reason, the caller does the same by
a transaction of its own, which finds out whether the row is there, and tells the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from rawko.journal.statements import Values
from rawko.journal.tables import blobs, runs, steps, uses

_DRIVER: Final = "psycopg"
_TURN: Final = f"""turn AS (UPDATE {runs.name} SET last_seq = %(seq)s
    WHERE run = %(run)s AND epoch = %(epoch)s AND last_seq = %(seq)s - 1 RETURNING run)"""
_TEXTS: Final = f"""texts AS (SELECT turn.run, digest, data
        FROM turn, unnest(%(digests)s::bytea[], %(texts)s::bytea[]) AS given (digest, data)),
    kept AS (INSERT INTO {blobs.name} (digest, data) SELECT digest, data FROM texts
        ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest),
    noted AS (INSERT INTO {uses.name} (run, digest) SELECT run, digest FROM texts ON CONFLICT DO NOTHING)"""
"""A blob that is there already is locked by being written again: a prune may be about to remove it."""
_COLUMNS: Final = tuple(column.name for column in steps.columns)
_STEP: Final = f"""INSERT INTO {steps.name} ({", ".join(_COLUMNS)})
    SELECT {", ".join(f"%({name})s" for name in _COLUMNS)} FROM turn"""
_ROW: Final = f"WITH {_TURN} {_STEP}"
_ROW_WITH_TEXTS: Final = f"WITH {_TURN}, {_TEXTS} {_STEP}"


class SingleStatement:
    """Rows written on a connection that stays open, from one thread at a time.

    Args:
        engine: Of any database; on another one than PostgreSQL nothing is written here.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._is_used = engine.dialect.name == "postgresql" and engine.dialect.driver == _DRIVER
        self._connection: Connection | None = None

    def commit(self, row: Values, texts: Sequence[tuple[bytes, bytes]]) -> bool:
        """Whether it is committed; if not, the caller has to find out whether it is there, and to write it.

        Args:
            row: Of `steps`.
            texts: Digest and data of the blobs that the run does not have yet.
        """
        if not self._is_used:
            return False
        from psycopg import Error

        try:
            return self._written(row, texts)
        except (Error, SQLAlchemyError, OSError):
            self._drop()
            return False

    def _written(self, row: Values, texts: Sequence[tuple[bytes, bytes]]) -> bool:
        connection = self._connection
        if connection is None:
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._connection = connection
        driver: Any = connection.connection.driver_connection
        if not texts:
            return bool(driver.execute(_ROW, row).rowcount == 1)
        ordered = sorted(texts)  # two writers of the same texts take their locks in one order
        given = {"digests": [digest for digest, _ in ordered], "texts": [data for _, data in ordered]}
        return bool(driver.execute(_ROW_WITH_TEXTS, {**row, **given}).rowcount == 1)

    def close(self) -> None:
        """Give the connection back. The next row opens one again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _drop(self) -> None:
        """The connection may be broken: it is ended, not given back, since the pool would ask it first."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError):
                connection.invalidate()
            connection.close()
