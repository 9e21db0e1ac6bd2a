"""A journal in a SQL database: SQLite in a file by default, PostgreSQL by URL.

One transaction per step. The writer's epoch and the order of rows are checked by the very statement that commits
them, so that of two processes on one run only the later one can write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, insert, select, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from rawko.journal.blobs import pack, unpack
from rawko.journal.tables import FORMAT, blobs, checkpoints, meta, metadata, runs, steps
from rawko.runtime.errors import JournalError
from rawko.runtime.journal import StepRecord

Result = TypeVar("Result")
BUSY_TIMEOUT_MS = 10_000
PAGE_BYTES = 16_384
"""Rows are about 2 kB; on pages of 4 kB each would have one to itself."""
WAL_PAGES = 64
"""1 MiB: the log beside the file stays small while a run is at work."""


class SqlJournal:
    """Implements `rawko.runtime.journal.Journal`.

    Durable means: committed by the database. SQLite runs in WAL mode with `synchronous=NORMAL`: nothing is lost when
    the process is killed; a power loss may take the last rows, never a part of one. `is_power_safe` waits for the disk
    at each row.

    Args:
        where: A file, or a database URL (`postgresql+psycopg://...`, `sqlite:///...`).

    Raises:
        JournalError: It cannot be opened, or is of another format.
    """

    def __init__(self, where: Path | str, *, is_power_safe: bool = False) -> None:
        self._name, self._engine = _engine(where, is_power_safe)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rawko-journal")
        self._is_closed = False
        self._guarded(self._prepare)

    # ------------------------------------------------------------ the port

    async def begin(self, run: str) -> int:
        """Open a run for writing, fencing off any earlier writer."""
        return await self._work(lambda: self._guarded(self._begin, run))

    async def append(self, record: StepRecord) -> None:
        """Commit one step."""
        await self._work(lambda: self._guarded(self._append, record))

    async def checkpoint(self, run: str, seq: int, snapshot: dict[str, Any], *, epoch: int) -> None:
        """Keep a full snapshot as of the latest row."""
        await self._work(lambda: self._guarded(self._checkpoint, run, seq, snapshot, epoch))

    async def rows(self, run: str, after: int = 0) -> Sequence[StepRecord]:
        """Committed rows with seq > `after`, in order."""
        return await self._work(lambda: self._guarded(self._rows, run, after))

    async def last_seq(self, run: str) -> int:
        """Number of the latest committed row; 0 of a run without any."""
        return await self._work(lambda: self._guarded(self._last_seq, run))

    async def last_checkpoint(self, run: str) -> tuple[int, dict[str, Any]] | None:
        """The latest checkpoint with its row number, or None."""
        return await self._work(lambda: self._guarded(self._last_checkpoint, run))

    async def aclose(self) -> None:
        """Close the database. Safe to call twice."""
        if not self._is_closed:
            self._is_closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.dispose)
            self._thread.shutdown(wait=False)

    async def _work(self, call: Callable[[], Result]) -> Result:
        """Run in the journal's thread. A cancelled caller does not tear a transaction: it is finished there."""
        if self._is_closed:
            raise JournalError(f"the journal {self._name} is closed", is_retryable=False)
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, call))

    # ------------------------------------------------------------ transactions

    def _guarded(self, call: Callable[..., Result], *arguments: Any) -> Result:
        try:
            with self._engine.begin() as connection:
                return call(connection, *arguments)
        except JournalError:
            raise
        except (SQLAlchemyError, OSError, ValueError) as error:
            raise JournalError(f"the journal {self._name}: {_words(error)}", is_retryable=_may_pass(error)) from error

    def _prepare(self, connection: Connection) -> None:
        metadata.create_all(connection)
        found = connection.scalar(select(meta.c.value).where(meta.c.key == "format"))
        if found is None:
            connection.execute(insert(meta).values(key="format", value=str(FORMAT)))
        elif found != str(FORMAT):
            raise JournalError(
                f"the journal {self._name} has format {found}; this rawko reads {FORMAT}: use the version that wrote "
                "it, or another state folder",
                is_retryable=False,
            )

    def _begin(self, connection: Connection, run: str) -> int:
        taken = connection.execute(update(runs).where(runs.c.run == run).values(epoch=runs.c.epoch + 1))
        if taken.rowcount == 0:
            connection.execute(insert(runs).values(run=run, epoch=1, last_seq=0))
        epoch = connection.scalar(select(runs.c.epoch).where(runs.c.run == run))
        assert epoch is not None
        return int(epoch)

    def _append(self, connection: Connection, record: StepRecord) -> None:
        moved = connection.execute(
            update(runs)
            .where(runs.c.run == record.run, runs.c.epoch == record.epoch, runs.c.last_seq == record.seq - 1)
            .values(last_seq=record.seq)
        )
        if moved.rowcount != 1:
            raise self._refused(connection, record.run, record.epoch, record.seq)
        packed: dict[str, str | None] = {}
        for name, value in (
            ("event", record.event),
            ("updates", record.updates),
            ("effects", record.effects),
            ("configuration", record.configuration),
            ("notes", record.notes),
        ):
            packed[name] = None if value is None else self._packed(connection, value)
        connection.execute(
            insert(steps).values(
                run=record.run,
                seq=record.seq,
                epoch=record.epoch,
                actor=record.actor,
                time=record.time,
                receipt=record.receipt,
                **packed,
            )
        )

    def _checkpoint(self, connection: Connection, run: str, seq: int, snapshot: dict[str, Any], epoch: int) -> None:
        fits = connection.execute(
            update(runs).where(runs.c.run == run, runs.c.epoch == epoch, runs.c.last_seq == seq).values(last_seq=seq)
        )
        if fits.rowcount != 1:
            raise self._refused(connection, run, epoch, seq + 1)
        text = self._packed(connection, snapshot)
        changed = connection.execute(update(checkpoints).where(checkpoints.c.run == run).values(seq=seq, snapshot=text))
        if changed.rowcount == 0:
            connection.execute(insert(checkpoints).values(run=run, seq=seq, snapshot=text))

    def _refused(self, connection: Connection, run: str, epoch: int, seq: int) -> JournalError:
        """Why a write did not fit: unknown run, another writer, or a row out of order."""
        found = connection.execute(select(runs.c.epoch, runs.c.last_seq).where(runs.c.run == run)).first()
        if found is None:
            message = f"run {run!r} was not begun"
        elif found.epoch != epoch:
            message = f"run {run!r} has another writer now (epoch {found.epoch}, ours is {epoch})"
        else:
            message = f"run {run!r}: row {seq} is out of order, expected {found.last_seq + 1}"
        return JournalError(message, is_retryable=False)

    def _packed(self, connection: Connection, value: Any) -> str:
        text, taken = pack(value)
        for digest, data in taken.items():
            if connection.scalar(select(blobs.c.digest).where(blobs.c.digest == digest)) is None:
                connection.execute(insert(blobs).values(digest=digest, data=data))
        return text

    # ------------------------------------------------------------ reading

    def _rows(self, connection: Connection, run: str, after: int) -> tuple[StepRecord, ...]:
        query = select(steps).where(steps.c.run == run, steps.c.seq > after).order_by(steps.c.seq)
        fetch = self._fetcher(connection)
        return tuple(_record(row._mapping, fetch) for row in connection.execute(query))

    def _last_seq(self, connection: Connection, run: str) -> int:
        return connection.scalar(select(runs.c.last_seq).where(runs.c.run == run)) or 0

    def _last_checkpoint(self, connection: Connection, run: str) -> tuple[int, dict[str, Any]] | None:
        query = select(checkpoints.c.seq, checkpoints.c.snapshot).where(checkpoints.c.run == run)
        found = connection.execute(query).first()
        return None if found is None else (found.seq, unpack(found.snapshot, self._fetcher(connection)))

    def _fetcher(self, connection: Connection) -> Callable[[str], bytes]:
        seen: dict[str, bytes] = {}

        def fetch(digest: str) -> bytes:
            if digest not in seen:
                data = connection.scalar(select(blobs.c.data).where(blobs.c.digest == digest))
                if data is None:
                    raise ValueError(f"blob {digest[:12]} is missing")
                seen[digest] = data
            return seen[digest]

        return fetch


def _record(row: Mapping[Any, Any], fetch: Callable[[str], bytes]) -> StepRecord:
    return StepRecord(
        run=row["run"],
        seq=row["seq"],
        epoch=row["epoch"],
        actor=row["actor"],
        time=row["time"],
        event=None if row["event"] is None else unpack(row["event"], fetch),
        receipt=row["receipt"],
        updates=tuple(unpack(row["updates"], fetch)),
        effects=tuple(unpack(row["effects"], fetch)),
        configuration=tuple(unpack(row["configuration"], fetch)),
        notes=None if row["notes"] is None else unpack(row["notes"], fetch),
    )


# ---------------------------------------------------------------- opening


def _engine(where: Path | str, is_power_safe: bool) -> tuple[str, Engine]:
    """A name for messages, and the engine."""
    try:
        if isinstance(where, Path):
            where.parent.mkdir(parents=True, exist_ok=True)
            url = make_url(f"sqlite:///{where}")
        else:
            url = make_url(where)
        engine = create_engine(url)
    except (ArgumentError, ImportError, OSError) as error:
        raise JournalError(f"the journal {str(where)!r} cannot be opened: {error}", is_retryable=False) from error
    if url.get_backend_name() == "sqlite":
        _tune_sqlite(engine, is_power_safe)
    return repr(url.render_as_string(hide_password=True)), engine


def _tune_sqlite(engine: Engine, is_power_safe: bool) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA page_size={PAGE_BYTES}")  # of a new file; an old one keeps its own
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
        cursor.execute(f"PRAGMA synchronous={'FULL' if is_power_safe else 'NORMAL'}")
        cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        cursor.close()


def _may_pass(error: Exception) -> bool:
    """Whether the same write may succeed in a moment: a lock, a connection."""
    return isinstance(error, OperationalError) or (isinstance(error, DBAPIError) and error.connection_invalidated)


def _words(error: Exception) -> str:
    """The database's own words, without the statement."""
    if isinstance(error, IntegrityError | DBAPIError) and error.orig is not None:
        return str(error.orig).strip()
    return str(error)
