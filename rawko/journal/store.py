"""A journal in a SQL database: SQLite in a file by default, PostgreSQL by URL.

One transaction per step. The statement that commits a row also checks the writer's epoch and the order of rows, so that
of two processes on one run only the later one can write.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from rawko.journal.blobs import Packed
from rawko.journal.contents import Contents
from rawko.journal.direct import DirectWriting
from rawko.journal.engine import journal_error, open_engine, reading
from rawko.journal.group_commit import GroupCommit
from rawko.journal.migrations import bring_up_to_date, check_format, found_format
from rawko.journal.presence import Presence
from rawko.journal.pruning import Pruned, prune_runs, shrink
from rawko.journal.rows import is_same_step, packed_state, packed_step, read_state, read_steps
from rawko.journal.run_locks import run_locks_of
from rawko.journal.single_statement import SingleStatement
from rawko.journal.spans import RunSpan, read_spans
from rawko.journal.statements import Values, prepared
from rawko.journal.tables import FORMAT, checkpoints, runs, steps
from rawko.journal.writing import Writing
from rawko.postgres_sessions import is_shared
from rawko.runtime.errors import JournalError, RuntimeFault
from rawko.runtime.journal import StepRecord

Result = TypeVar("Result")

_MOST_AT_ONCE: Final = 65_536
"""Most bytes of new blobs for which a row is committed in the loop's thread: they are compressed there."""
_PROBE = "~probe"
"""Sorts after all runs, where a new run is written, too."""

_TAKE_TURN = (
    update(runs)
    .where(runs.c.run == bindparam("of"), runs.c.epoch == bindparam("by"), runs.c.last_seq == bindparam("after"))
    .values(last_seq=bindparam("to"))
)
"""Checks the writer's epoch and the order of rows; locks the run until the end of the transaction."""
_ADD_STEP = insert(steps)


class SqlJournal:
    """Implements `rawko.runtime.journal.Journal`.

    A step is durable once the database has committed it. SQLite runs in WAL mode with `synchronous=NORMAL`: nothing is
    lost if the process is killed; a power loss may lose the last rows, never a part of a row. `is_power_safe` waits for
    the disk at each row. A write whose answer was lost may be repeated: an existing row is not written twice.

    Args:
        where: A file, by its path; or a database URL (`postgresql://USER@HOST/DATABASE`, `sqlite:///FILE`).

    Raises:
        JournalError: The journal cannot be opened, is damaged, or has a newer format; an older format is migrated.
    """

    def __init__(self, where: Path | str, *, is_power_safe: bool = False) -> None:
        self.name, self._engine = open_engine(where, is_power_safe)
        self._reading = reading(self._engine)
        self._writing = Writing(self._engine)
        self._single = SingleStatement(self._engine)
        self._group = GroupCommit(self._engine)
        self._insert = _insert_of(self._engine.dialect.name)
        self._take_turn, self._add_step = prepared(self._engine, _TAKE_TURN), prepared(self._engine, _ADD_STEP)
        self._contents = Contents(self._engine, self._insert)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rawko-journal")
        self._process = os.getpid()
        self._waiting = 0  # calls that the thread has not finished yet
        self._is_closed = False
        self._presence: Presence | None = None  # until the tables are made
        self._run_locks = run_locks_of(self._engine, self.name)
        try:
            self._prepare()
            self._direct = DirectWriting(self._engine, is_power_safe=is_power_safe)
            self._presence = Presence(self._engine, self.name)
        except BaseException:
            self._writing.close()
            self._dispose()
            self._thread.shutdown(wait=False)
            raise

    # ------------------------------------------------------------ the port

    async def begin(self, run: str) -> int:
        """Open a run for writing; earlier writers are refused from then on."""
        if self._single.is_used:
            return await self._work(lambda: self._guarded(lambda: self._single.begin(run)))
        return await self._work(lambda: self._written(self._begin, run))

    async def append(self, record: StepRecord) -> None:
        """Commit one step."""
        self._require_open()
        row, packed = packed_step(record)  # outside of the transaction, for which other writers wait
        is_short = self._contents.size_of_new(record.run, packed) <= _MOST_AT_ONCE
        if is_short and self._group.is_used and await self._append_in_group(record, row, packed):
            return
        if not (is_short and self._append_directly(record, row, packed)):
            await self._work(lambda: self._append(record, row, packed, is_tried=is_short and self._group.is_used))

    async def checkpoint(self, run: str, seq: int, snapshot: dict[str, Any], *, epoch: int) -> None:
        """Store a full snapshot as of the latest row."""
        await self._work(lambda: self._checkpoint(run, seq, snapshot, epoch))

    async def rows(self, run: str, after: int = 0, until: int | None = None) -> Sequence[StepRecord]:
        """Committed rows with `after` < seq <= `until`, in order."""
        return await self._work(lambda: self._read(self._rows, run, after, until))

    async def last_seq(self, run: str) -> int:
        """Number of the latest committed row; 0 for a run without rows."""
        if self._single.is_used:
            return await self._work(lambda: self._guarded(lambda: self._single.last_seq(run)))
        return await self._work(lambda: self._read(self._last_seq, run))

    async def spans(self, names: Collection[str]) -> dict[str, RunSpan]:
        """How far runs have come, read at once, by run; runs without rows are left out."""
        return await self._work(lambda: self._read(read_spans, names))

    async def last_checkpoint(self, run: str) -> tuple[int, dict[str, Any]] | None:
        """The latest checkpoint with its row number, or None."""
        return await self._work(lambda: self._read(self._checkpoint_at, run, None))

    async def checkpoint_at(self, run: str, seq: int) -> tuple[int, dict[str, Any]] | None:
        """The nearest checkpoint at or before a row, with its row number, or None."""
        return await self._work(lambda: self._read(self._checkpoint_at, run, seq))

    async def aclose(self) -> None:
        """Close the database. Safe to call twice."""
        if not self._is_closed and self._process == os.getpid():
            self._is_closed = True
            await self._group.settle()
            await asyncio.get_running_loop().run_in_executor(self._thread, self._end)
            self._thread.shutdown(wait=False)

    async def _work(self, call: Callable[[], Result]) -> Result:
        """Run in the journal's thread. If the caller is cancelled, the transaction is still completed there."""
        self._require_open()
        future = asyncio.get_running_loop().run_in_executor(self._thread, call)
        self._waiting += 1
        future.add_done_callback(self._ended)
        return await asyncio.shield(future)

    def _require_open(self) -> None:
        """Refuse a closed journal, and one that a fork has brought into this process: its thread is not here, and its
        connections are the parent's.

        Raises:
            JournalError: It cannot be used.
        """
        if self._is_closed:
            raise JournalError(f"the journal {self.name} is closed", is_retryable=False)
        if self._process != os.getpid():
            message = f"the journal {self.name} was opened by process {self._process}; open another in this one"
            raise JournalError(message, is_retryable=False)

    def _ended(self, future: asyncio.Future[Any]) -> None:
        self._waiting -= 1

    def dispose(self) -> None:
        """`aclose` for callers without a running event loop."""
        self._is_closed = True
        if self._process != os.getpid():
            return
        self._thread.shutdown(wait=True)
        self._end()

    def _end(self) -> None:
        self._run_locks.release_all()
        self._direct.close()
        self._group.close()
        self._single.close()
        self._writing.close()
        self._dispose()

    def _dispose(self) -> None:
        if not is_shared(self._engine):
            self._engine.dispose()

    async def hold(self, run: str) -> None:
        """Lock a run, until `release` or the end of this process; see `rawko.journal.run_locks`."""
        await self._work(lambda: self._guarded(lambda: self._run_locks.acquire(run)))

    async def release(self, run: str) -> None:
        """Unlock a run, and forget which of its blobs are stored."""
        self._contents.forget([run])
        if not self._is_closed and self._process == os.getpid():
            await self._work(lambda: self._guarded(lambda: self._run_locks.release(run)))

    # ------------------------------------------------------------ besides the port

    def probe(self) -> None:
        """Check that a new run could be written, before anything depends on it; leaves nothing in the store.

        Raises:
            JournalError: It could not; `is_damaged` if the store is broken.
        """
        if self._single.is_used:
            return self._guarded(self._single.probe)

        def write(connection: Connection) -> None:
            nested = connection.begin_nested()
            self._begin(connection, _PROBE)
            row, packed = packed_step(
                StepRecord(_PROBE, 1, 1, "root", 0.0, None, None, ({"text": _PROBE * 100},), (), ())
            )
            self._contents.keep(connection, _PROBE, packed)
            connection.execute(insert(steps), row)
            nested.rollback()

        return self._written(write)

    async def runs(self) -> Sequence[str]:
        """Ids of all runs, sorted."""
        return await self._work(lambda: self._read(_run_ids))

    async def prune(self, doomed: Collection[str]) -> Pruned:
        """Delete runs with everything that only they need. Their writers are refused from then on."""
        pruned = await self._work(lambda: self._written(prune_runs, doomed))
        self._contents.forget(doomed)
        return pruned

    async def shrink(self) -> None:
        """Return the disk space of deleted data to the system."""
        await self._work(lambda: self._guarded(lambda: shrink(self._engine)))

    # ------------------------------------------------------------ transactions

    def _written(self, call: Callable[..., Result], *arguments: Any) -> Result:
        def transact() -> Result:
            with self._writing.begin() as connection:
                result = call(connection, *arguments)
            if self._presence is not None:
                self._presence.check()
            return result

        return self._guarded(transact)

    def _read(self, call: Callable[..., Result], *arguments: Any) -> Result:
        def transact() -> Result:
            with self._reading.begin() as connection:
                return call(connection, *arguments)

        return self._guarded(transact)

    def _guarded(self, call: Callable[[], Result]) -> Result:
        try:
            return call()
        except RuntimeFault:
            raise
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise journal_error(self.name, error) from error
        except ValueError as error:
            raise JournalError(f"the journal {self.name}: {error}", is_retryable=False, is_damaged=True) from error

    def _prepare(self) -> None:
        # Write only if the store needs it: it may be in use, or read-only.
        is_asked = self._single.is_used
        found = self._guarded(self._single.found_format) if is_asked else self._read(found_format)
        if found is not None:
            check_format(found, self.name)
        if found != FORMAT:
            self._written(bring_up_to_date, self.name)

    # ------------------------------------------------------------ writing

    def _begin(self, connection: Connection, run: str) -> int:
        statement = self._insert(runs).values(run=run, epoch=1, last_seq=0)
        taken = statement.on_conflict_do_update(index_elements=[runs.c.run], set_={"epoch": runs.c.epoch + 1})
        epoch = connection.scalar(taken.returning(runs.c.epoch))
        assert epoch is not None
        return int(epoch)

    def _append_directly(self, record: StepRecord, row: Values, packed: Packed) -> bool:
        """Whether the row was committed at once, in the loop's own thread; see `rawko.journal.direct`."""
        if self._is_closed or self._waiting:
            return False
        if not self._direct.commit(lambda connection: self._add(connection, record, row, packed)):
            return False
        if self._presence is not None:
            self._presence.check()
        self._contents.remember(record.run, packed)
        if self._direct.has_long_log():
            self._thread.submit(self._direct.shorten_log)
        return True

    async def _append_in_group(self, record: StepRecord, row: Values, packed: Packed) -> bool:
        """Whether the row was committed together with others; see `rawko.journal.group_commit`."""
        if self._is_closed or not (self._group.is_open or await self._work(self._group.open)):
            return False
        if not await self._group.commit(row, self._contents.fresh(record.run, packed)):
            return False
        self._contents.remember(record.run, packed)
        return True

    def _append(self, record: StepRecord, row: Values, packed: Packed, *, is_tried: bool) -> None:
        def write(connection: Connection) -> None:
            is_written = self._add(connection, record, row, packed) or self._is_written(connection, record)
            if not is_written:
                raise _refused(connection, record.run, record.epoch, record.seq)

        if is_tried or not self._single.commit(row, self._contents.fresh(record.run, packed)):
            self._written(write)
        self._contents.remember(record.run, packed)

    def _add(
        self, connection: Connection | sqlite3.Connection, record: StepRecord, row: Values, packed: Packed
    ) -> bool:
        """Write a row with its blobs; False if epoch or order do not match."""
        turn = {"of": record.run, "by": record.epoch, "after": record.seq - 1, "to": record.seq}
        if self._take_turn(connection, turn).rowcount != 1:
            return False
        self._contents.keep(connection, record.run, packed)
        self._add_step(connection, row)
        return True

    def _is_written(self, connection: Connection, record: StepRecord) -> bool:
        query = select(steps).join(runs, (runs.c.run == steps.c.run) & (runs.c.epoch == steps.c.epoch))
        query = query.where(steps.c.run == record.run, steps.c.seq == record.seq, runs.c.last_seq == record.seq)
        found = connection.execute(query.where(steps.c.epoch == record.epoch))
        return any(is_same_step(stored, record) for stored in read_steps(connection, found.mappings().all()))

    def _checkpoint(self, run: str, seq: int, snapshot: dict[str, Any], epoch: int) -> None:
        body, packed = packed_state(snapshot)

        def write(connection: Connection) -> None:
            if self._take_turn(connection, {"of": run, "by": epoch, "after": seq, "to": seq}).rowcount != 1:
                raise _refused(connection, run, epoch, seq + 1)
            self._contents.keep(connection, run, packed)
            statement = self._insert(checkpoints).values(run=run, seq=seq, body=body)
            key = [checkpoints.c.run, checkpoints.c.seq]
            new = {"body": statement.excluded.body}
            connection.execute(statement.on_conflict_do_update(index_elements=key, set_=new))

        self._written(write)
        self._contents.remember(run, packed)

    # ------------------------------------------------------------ reading

    @staticmethod
    def _rows(connection: Connection, run: str, after: int, until: int | None) -> tuple[StepRecord, ...]:
        query = select(steps).where(steps.c.run == run, steps.c.seq > after).order_by(steps.c.seq)
        if until is not None:
            query = query.where(steps.c.seq <= until)
        return read_steps(connection, connection.execute(query).mappings().all())

    @staticmethod
    def _last_seq(connection: Connection, run: str) -> int:
        return connection.scalar(select(runs.c.last_seq).where(runs.c.run == run)) or 0

    @staticmethod
    def _checkpoint_at(connection: Connection, run: str, seq: int | None) -> tuple[int, dict[str, Any]] | None:
        query = select(checkpoints.c.seq, checkpoints.c.body).where(checkpoints.c.run == run)
        if seq is not None:
            query = query.where(checkpoints.c.seq <= seq)
        found = connection.execute(query.order_by(checkpoints.c.seq.desc()).limit(1)).first()
        return None if found is None else (found.seq, read_state(connection, run, found.body))


def _run_ids(connection: Connection) -> tuple[str, ...]:
    return tuple(connection.scalars(select(runs.c.run).order_by(runs.c.run)))


def _refused(connection: Connection, run: str, epoch: int, seq: int) -> JournalError:
    """The error for a write that does not match: unknown run, another writer, or a row out of order."""
    found = connection.execute(select(runs.c.epoch, runs.c.last_seq).where(runs.c.run == run)).first()
    if found is None:
        message = f"run {run!r} was not begun"
    elif found.epoch != epoch:
        message = f"run {run!r} has another writer now (epoch {found.epoch}, ours is {epoch})"
    else:
        message = f"run {run!r}: row {seq} is out of order, expected {found.last_seq + 1}"
    return JournalError(message, is_retryable=False)


def _insert_of(dialect: str) -> Any:
    """The INSERT with ON CONFLICT of the database's dialect; imports only that dialect."""
    match dialect:
        case "postgresql":
            from sqlalchemy.dialects import postgresql

            return postgresql.insert
        case "sqlite":
            from sqlalchemy.dialects import sqlite

            return sqlite.insert
        case _:
            raise ValueError(f"no INSERT with ON CONFLICT is known for {dialect!r}; known: postgresql, sqlite")
