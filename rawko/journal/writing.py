"""The connection of a journal's writing transactions; SQLite's stays open from one to the next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, Engine

_KEPT: Final = "sqlite"
"""A database that holds nothing for a connection at rest. Taking one from the pool and giving it back costs about as
much as the row itself; of a server, the pool finds out whether the connection still lives."""


class Writing:
    """Writing transactions of one journal, one after the other, from one thread at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._is_kept = engine.dialect.name == _KEPT
        self._connection: Connection | None = None

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction: committed at the end, undone by whatever is raised.

        Raises:
            SQLAlchemyError, sqlite3.Error: It cannot be begun or committed.
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
        """Give the connection back. The next transaction opens one again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
