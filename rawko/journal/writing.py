"""The connection for a journal's writing transactions; SQLite's stays open between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, Engine

_KEPT: Final = "sqlite"
"""A database for which an idle connection costs nothing. Taking one from the pool and returning it costs about as
much as writing the row; for a server, the pool checks whether the connection still works.
"""


class Writing:
    """Runs writing transactions of one journal, one after the other, from one thread at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._is_kept = engine.dialect.name == _KEPT
        self._connection: Connection | None = None

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction: committed at the end, undone if an exception is raised.

        Raises:
            SQLAlchemyError, sqlite3.Error: The transaction cannot be begun or committed.
        """
        if not self._is_kept:
            with self._engine.begin() as connection:
                yield connection
            return
        connection, self._connection = self._connection or self._engine.connect(), None
        try:
            with connection.begin():
                yield connection
        except BaseException:
            connection.close()  # a commit that failed may have left its transaction open: the pool undoes it
            raise
        self._connection = connection

    def close(self) -> None:
        """Release the connection. The next transaction opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
