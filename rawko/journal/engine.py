"""The database of the journal: the engine for a file or a URL, its transactions, and the meaning of its errors."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.pool import NullPool

from rawko.extras import MissingExtra
from rawko.postgres_sessions import READING, is_shared, shared
from rawko.processes.private import FILE, make_private, narrow
from rawko.runtime.errors import JournalError

BUSY_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_S = 10
PAGE_BYTES = 16_384
"""Page size of a SQLite file. Rows have some hundred bytes to a few kB; with pages of 4 kB many would fill a page
alone.
"""
WAL_PAGES = 64
"""1 MiB: the log beside the file stays small during a run."""
_PG_LOCK = 0x7261776B  # "rawk": held while the tables are created or migrated


def open_engine(where: Path | str, is_power_safe: bool) -> tuple[str, Engine]:
    """A name for messages, and the engine; opens no connection yet.

    Raises:
        JournalError: The database cannot be used from here.
    """
    try:
        url = _url(where)
        if url.get_backend_name() == "sqlite":
            engine = _sqlite_engine(url, is_power_safe)
        elif url.get_backend_name() == "postgresql" and not is_power_safe and (found := shared(url)) is not None:
            engine = found
        elif url.get_backend_name() == "postgresql":
            arguments = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "rawko"}
            arguments = {name: value for name, value in arguments.items() if name not in url.query}
            engine = create_engine(url, connect_args=arguments, pool_pre_ping=True)
            if is_power_safe:
                _wait_for_the_disk(engine)
        else:
            raise ArgumentError("accepted: a file, sqlite:///FILE, or postgresql://USER@HOST/DATABASE")
    except ModuleNotFoundError as error:
        if error.name in ("psycopg", "psycopg2"):
            error = MissingExtra("postgres", "a journal in PostgreSQL", error.name)
        raise JournalError(f"the journal {_shown(where)} cannot be opened: {error}", is_retryable=False) from error
    except (ArgumentError, ImportError, OSError) as error:
        raise JournalError(f"the journal {_shown(where)} cannot be opened: {error}", is_retryable=False) from error
    return _shown(where), engine


def _unopened(where: Path | str, why: str) -> JournalError:
    return JournalError(f"the journal {_shown(where)} cannot be opened: {why}", is_retryable=False)


def _url(where: Path | str) -> URL:
    if isinstance(where, str) and "://" not in where:
        where = Path(where)
    if isinstance(where, Path):
        if not where.parent.is_dir():  # an existing folder is the user's, and is not changed
            make_private(where.parent)
        return URL.create("sqlite", database=_place(where))
    url = make_url(where)
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:") and not url.query:
        return url.set(database=_place(str(url.database)))
    return url


def _place(file: Path | str) -> str:
    """The one path of a file: its locks are beside it, whatever name it was opened by; and it stays the same file if
    the process changes its folder.
    """
    return os.path.realpath(file)


def _shown(where: Path | str) -> str:
    """The location for messages: never with a password."""
    if isinstance(where, Path) or "://" not in where:
        return repr(str(where))
    try:
        return repr(make_url(where).render_as_string(hide_password=True))
    except ArgumentError:
        return repr(where)


# ---------------------------------------------------------------- transactions


def reading(engine: Engine) -> Engine:
    """The same engine for read-only transactions, each of which sees a single moment."""
    is_told = engine.dialect.name == "sqlite" or is_shared(engine)
    options: dict[str, Any] = {READING: True} if is_told else {"isolation_level": "REPEATABLE READ"}
    return engine.execution_options(**options)


def lock_for_migration(connection: Connection) -> None:
    """Let only one process at a time create or change tables; until the end of the transaction."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_PG_LOCK})")


def _sqlite_engine(url: URL, is_power_safe: bool) -> Engine:
    file = url.database or ""
    if not url.query and os.path.isfile(file) and not os.access(os.path.dirname(file), os.W_OK):  # noqa: PTH113, PTH120
        return _read_only_engine(url, file)
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    _tune_sqlite(engine, is_power_safe)
    return engine


def _tune_sqlite(engine: Engine, is_power_safe: bool) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # transactions begin explicitly, below
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        cursor.execute(f"PRAGMA page_size={PAGE_BYTES}")  # only for a new file
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
        limit_log(cursor)
        cursor.execute(f"PRAGMA synchronous={'FULL' if is_power_safe else 'NORMAL'}")
        cursor.close()
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):  # in memory, or another user's
                narrow(Path(f"{engine.url.database}{suffix}"), FILE)

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        # A writer waits for its turn here, up to the busy timeout; a transaction that begins as a reader and then
        # writes would be refused at once.
        is_reading = connection.get_execution_options().get(READING, False)
        driver: Any = connection.connection.driver_connection
        driver.execute("BEGIN" if is_reading else "BEGIN IMMEDIATE")


def limit_log(connection: sqlite3.Connection | sqlite3.Cursor) -> None:
    """Make SQLite truncate the log to its usual length after it has been longer."""
    connection.execute(f"PRAGMA journal_size_limit={WAL_PAGES * PAGE_BYTES}")


def _wait_for_the_disk(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: Any, record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit TO on")
        connection.commit()


# ---------------------------------------------------------------- a file in a folder that cannot be written
#
# Beside a database in WAL mode are two files, which SQLite cannot make on a read-only disk or in another user's folder:
#
#     no log, or an empty one       all rows are in the file; it is read as one that does not change ("immutable")
#     a log, and its index          both are read as they are, also while their writer works
#     a log without its index       refused: only SQLite's recovery, which writes, finds the rows in the log
#
# A file that is immutable is read without locks: a transaction at whose end there is a log is refused.


def _read_only_engine(url: URL, file: str) -> Engine:
    """An engine for reading alone; each connection chooses anew how the file is read."""
    engine = create_engine(url, creator=lambda: _opened_to_read(file), poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    @event.listens_for(engine, "commit")
    def ended(connection: Connection) -> None:
        if isinstance(connection.connection.driver_connection, _Immutable) and _has_log(file):
            raise JournalError(f"the journal {file!r} was written while it was read: read it again", is_retryable=True)

    return engine


class _Immutable(sqlite3.Connection):
    """A connection that takes no locks, and does not look at the log."""


def _opened_to_read(file: str) -> sqlite3.Connection:
    has_log = _has_log(file)
    if has_log and not Path(f"{file}-shm").exists():
        raise JournalError(
            f"the journal {file!r} cannot be read where its folder cannot be written: a process was killed, and its "
            f"last steps are in {Path(file).name + '-wal'!r}; make the folder writable, or copy the state folder and "
            "name the copy by RAWKO_STATE_DIR",
            is_retryable=False,
        )
    return sqlite3.connect(
        f"{Path(file).as_uri()}?mode=ro{'' if has_log else '&immutable=1'}",
        uri=True,
        timeout=BUSY_TIMEOUT_MS / 1000,
        isolation_level=None,
        check_same_thread=False,
        factory=sqlite3.Connection if has_log else _Immutable,
    )


def _has_log(file: str) -> bool:
    """Whether there are rows that are not in the file itself."""
    try:
        return Path(f"{file}-wal").stat().st_size > 0
    except OSError:
        return False


# ---------------------------------------------------------------- errors

_OF_DISK = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
_LASTING = (*_OF_DISK, "SQLITE_CORRUPT", "SQLITE_NOTADB")
"""Errors that do not pass within seconds. An exhausted quota is reported as SQLITE_IOERR, too."""
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def journal_error(name: str, error: Exception) -> JournalError:
    """A database's error as a JournalError: with the database's message, without the statement."""
    message = f"the journal {name}: {_words(error)}"
    return JournalError(message, is_retryable=_may_pass(error), is_damaged=_is_damaged(error))


def _sqlite_name(error: Exception) -> str:
    """SQLite's name of the error, such as "SQLITE_FULL"; "" for other databases."""
    original = error.orig if isinstance(error, DBAPIError) else error
    return str(getattr(original, "sqlite_errorname", "") or "")


def _may_pass(error: Exception) -> bool:
    """Whether the same write may succeed in a moment: after a lock, a lost connection, a restart of the server."""
    if _sqlite_name(error).startswith(_LASTING):
        return False
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return isinstance(error, OperationalError | InterfaceError | sqlite3.OperationalError)


def _is_damaged(error: Exception) -> bool:
    """Whether the store itself is broken, or returned other data than was written."""
    return _sqlite_name(error).startswith(_DAMAGED)


def _words(error: Exception) -> str:
    original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    lines = [line.strip() for line in str(original).splitlines()]
    return "; ".join(line for line in lines if line) or type(original).__name__
