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
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from rawko.journal.statements import Values
from rawko.journal.tables import blobs, meta, runs, steps, uses
from rawko.postgres_sessions import by_itself, is_shared

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


_FORMAT_ROW: Final = f"""SELECT value FROM {meta.name}
    WHERE key = 'format' AND tableoid = to_regclass(quote_ident(current_schema()) || '.{meta.name}')"""
"""Of the schema that tables would be made in: one further down the path may have a journal, too."""
_BEGIN: Final = f"""INSERT INTO {runs.name} (run, epoch, last_seq) VALUES (%(run)s, 1, 0)
    ON CONFLICT (run) DO UPDATE SET epoch = {runs.name}.epoch + 1 RETURNING epoch"""
_LAST: Final = f"SELECT last_seq FROM {runs.name} WHERE run = %(run)s"
_PROBED: Final = f"""BEGIN;
    INSERT INTO {runs.name} (run, epoch, last_seq) VALUES ('~probe', 1, 0)
        ON CONFLICT (run) DO UPDATE SET epoch = {runs.name}.epoch + 1;
    INSERT INTO {blobs.name} (digest, data) VALUES ('~probe', '~') ON CONFLICT (digest) DO NOTHING;
    INSERT INTO {uses.name} (run, digest) VALUES ('~probe', '~probe');
    INSERT INTO {steps.name} (run, seq, epoch, actor, time, body) VALUES ('~probe', 1, 1, 'root', 0, '~');
    ROLLBACK"""
_NO_TABLE: Final = "42P01"


class SingleStatement:
    """Rows written from one thread at a time: on a connection that stays open, or on one that the process shares.

    Args:
        engine: Of any database; on another one than PostgreSQL nothing is written here.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.is_used = engine.dialect.name == "postgresql" and engine.dialect.driver == _DRIVER
        self._is_shared = is_shared(engine)
        self._connection: Connection | None = None

    def commit(self, row: Values, texts: Sequence[tuple[bytes, bytes]]) -> bool:
        """Whether it is committed; if not, the caller has to find out whether it is there, and to write it.

        Args:
            row: Of `steps`.
            texts: Digest and data of the blobs that the run does not have yet.
        """
        if not self.is_used:
            return False
        from psycopg import Error

        try:
            return self._written(row, texts)
        except (Error, SQLAlchemyError, OSError):
            self._drop()
            return False

    def found_format(self) -> int | None:
        """The format of the store; None of an empty one.

        Raises:
            SQLAlchemyError: It cannot be asked.
            ValueError: It says something that is no number.
        """
        try:
            found = by_itself(self._engine, _FORMAT_ROW).fetchone()
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) == _NO_TABLE:
                return None
            raise
        return None if found is None else int(found[0])

    def begin(self, run: str) -> int:
        """Take a run over from its writer so far, if it has one; the epoch.

        Raises:
            SQLAlchemyError: It cannot be written.
        """
        return int(self._ask(_BEGIN, {"run": run}).fetchone()[0])

    def last_seq(self, run: str) -> int:
        """Number of the latest row of a run; 0 of a run without any.

        Raises:
            SQLAlchemyError: It cannot be read.
        """
        found = self._ask(_LAST, {"run": run}).fetchone()
        return 0 if found is None else int(found[0])

    def probe(self) -> None:
        """Write a row of each table, and undo it.

        Raises:
            SQLAlchemyError: It cannot be written.
        """
        by_itself(self._engine, _PROBED)

    def _written(self, row: Values, texts: Sequence[tuple[bytes, bytes]]) -> bool:
        ordered = sorted(texts)  # two writers of the same texts take their locks in one order
        given = {"digests": [digest for digest, _ in ordered], "texts": [data for _, data in ordered]}
        statement, values = (_ROW_WITH_TEXTS, {**row, **given}) if texts else (_ROW, row)
        return bool(self._carry_out(statement, values).rowcount == 1)

    def _ask(self, statement: str, values: Values) -> Any:
        """Carry out a statement that may be carried out twice: on a new connection where the kept one was cut."""
        from psycopg import Error

        if self._connection is not None:
            try:
                return self._carry_out(statement, values)
            except (Error, SQLAlchemyError):
                self._drop()
        try:
            return self._carry_out(statement, values)
        except Error as error:
            self._drop()
            raise DBAPIError.instance(statement, None, error, Error) from error

    def _carry_out(self, statement: str, values: Values) -> Any:
        if self._is_shared:
            return by_itself(self._engine, statement, values)
        connection = self._connection
        if connection is None:
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._connection = connection
        driver: Any = connection.connection.driver_connection
        return driver.execute(statement, values)

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
