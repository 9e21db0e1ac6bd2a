"""Locks runs of the journal for one process, until it releases them or ends.

In SQLite a lock is a locked file beside the database, in PostgreSQL an advisory lock of the server: the system releases
both when their holder dies, so that a killed process blocks no other.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from rawko.processes.private import make_private
from rawko.runtime.errors import ActorInUse


class RunLocks(Protocol):
    """The locks of this process on runs of one journal."""

    def acquire(self, run: str) -> None:
        """Lock a run.

        Raises:
            ActorInUse: Another holder has locked it, in this process or elsewhere.
            OSError, SQLAlchemyError: Locking failed.
        """
        ...

    def release(self, run: str) -> None:
        """Unlock a run. No error if it is not locked."""
        ...

    def release_all(self) -> None:
        """Unlock all runs, when the journal is closed."""
        ...


def run_locks_of(engine: Engine, name: str) -> RunLocks:
    """The locks for a journal's database.

    Args:
        name: Of the journal, for messages.
    """
    if engine.dialect.name == "postgresql":
        return ServerLocks(engine, name)
    database = engine.url.database
    is_file = bool(database) and database != ":memory:"
    return FileLocks(Path(f"{database}.held"), name) if is_file else MemoryLocks(name)


class MemoryLocks:
    """Locks for a database in memory, which no other process can reach."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._held: set[str] = set()

    def acquire(self, run: str) -> None:
        if run in self._held:
            raise ActorInUse(run, self._name, os.getpid())
        self._held.add(run)

    def release(self, run: str) -> None:
        self._held.discard(run)

    def release_all(self) -> None:
        self._held.clear()


class FileLocks:
    """Locks as files: a folder beside the database has one locked file for each locked run."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._held: dict[str, int] = {}
        _OPEN.add(self)

    def acquire(self, run: str) -> None:
        if not self._folder.is_dir():
            make_private(self._folder)
        while True:
            file = self._file(run)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                os.close(descriptor)
                raise ActorInUse(run, self._name, int(holder) if holder.isdigit() else None) from None
            if _is_of(descriptor, file):
                break
            os.close(descriptor)  # its last holder has removed the file, so that its lock guards nothing
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        self._held[run] = descriptor

    def release(self, run: str) -> None:
        descriptor = self._held.pop(run, None)
        if descriptor is not None:
            with suppress(OSError):  # the folder may be gone; the lock goes with the descriptor
                self._file(run).unlink()
            os.close(descriptor)

    def release_all(self) -> None:
        for run in tuple(self._held):
            self.release(run)

    def leave_to_parent(self) -> None:
        """In a forked process: close the copies of the locks. They would last as long as this process, even if the one
        that holds them is killed.
        """
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held.clear()

    def _file(self, run: str) -> Path:
        return self._folder / hashlib.sha256(run.encode()).hexdigest()[:32]


def _is_of(descriptor: int, file: Path) -> bool:
    """Whether a file still exists under its name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(file))  # noqa: PTH116 (both sides are `stat`)
    except FileNotFoundError:
        return False


_LOCK: Final = "SELECT pg_try_advisory_lock(:key)"


class ServerLocks:
    """Advisory locks of one connection, which stays open as long as a run is locked.

    A connection that breaks loses its locks: the next `acquire` acquires them again. Until then the epoch of the run's
    writer prevents a second process from writing beside the first.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._connection: Connection | None = None
        self._held: dict[str, int] = {}
        self._schema = ""
        self._inherited: Connection | None = None
        _OPEN.add(self)

    def acquire(self, run: str) -> None:
        if run in self._held:
            raise ActorInUse(run, self._name, os.getpid())
        if not self._locked(run):
            self._rest()
            raise ActorInUse(run, self._name, None)
        self._held[run] = self._key(run)

    def _locked(self, run: str) -> bool:
        """Whether the lock was acquired; on a new connection if the kept one was lost."""
        if self._connection is not None:
            try:
                return bool(_scalar(self._connection, _LOCK, key=self._key(run)))
            except SQLAlchemyError:
                self._connection.close()
                self._connection = None
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            if not self._schema:
                self._schema = str(_scalar(connection, "SELECT current_schema()"))
            for key in self._held.values():
                _scalar(connection, _LOCK, key=key)
            is_locked = bool(_scalar(connection, _LOCK, key=self._key(run)))
        except SQLAlchemyError:
            connection.close()
            raise
        self._connection = connection
        return is_locked

    def _key(self, run: str) -> int:
        """A key of 64 bits for a run's name; different in each schema of a database."""
        digest = hashlib.sha256(f"rawko {self._schema} {run}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def release(self, run: str) -> None:
        key = self._held.pop(run, None)
        if key is None or self._connection is None:
            return
        with suppress(SQLAlchemyError):  # a broken connection holds no lock
            _scalar(self._connection, "SELECT pg_advisory_unlock(:key)", key=key)
        self._rest()

    def release_all(self) -> None:
        for run in tuple(self._held):
            self.release(run)

    def leave_to_parent(self) -> None:
        """In a forked process: close the copy of the connection's socket, and nothing else of the connection. The
        server releases the locks of a killed process when no process has the socket any more.
        """
        self._held.clear()
        self._inherited, self._connection = self._connection, None  # kept: to drop it would tell the server
        if self._inherited is None:
            return
        driver: Any = self._inherited.connection.driver_connection
        none = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            with suppress(Exception):  # a broken connection has no socket
                os.dup2(none, driver.fileno(), inheritable=False)
        finally:
            os.close(none)

    def _rest(self) -> None:
        """Return the connection to the pool if no run is locked."""
        if not self._held and self._connection is not None:
            self._connection.close()
            self._connection = None


def _scalar(connection: Connection, query: str, **values: Any) -> Any:
    return connection.execute(text(query), values).scalar()


# ---------------------------------------------------------------- forked processes

_OPEN: Final[weakref.WeakSet[FileLocks | ServerLocks]] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for locks in tuple(_OPEN):
        locks.leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)
