"""The fleet as commands and workers use it: submits, claims, ends, answers and lists tasks; keeps queue and records
consistent.

Queueing and recording happen in one transaction. A release is recorded first, so that if the worker dies in between,
the next claim corrects the record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy import Engine as Database
from sqlalchemy.engine import URL

from rawko.app.records.run_names import new_id
from rawko.extras import require
from rawko.fleet import records
from rawko.fleet.database import fleet_errors, fleet_url, open_database, shown
from rawko.fleet.engine import Claim, Engine, QueueLimits
from rawko.fleet.errors import FleetError
from rawko.fleet.limits.store import LimitStore
from rawko.fleet.limits.usage import used_up
from rawko.fleet.records import EVENT, Letter, State, TaskRecord, WorkerRecord
from rawko.fleet.releases import own_release
from rawko.fleet.schema import FORMAT, JOURNAL_FORMAT, check_tables, has_queue, journal_format, prepare
from rawko.fleet.task import ActorTask, FleetTask

MAX_FAILURES: Final = 3
"""Failed attempts in a row with little progress after which a run counts as dead."""
MIN_STEPS: Final = 5
"""Journal rows that an attempt must exceed to count as progress: repeating a tool call makes some rows by itself."""
MAX_TAKEOVERS: Final = 10
"""The same for attempts whose worker died: more, since kills and restarts of machines are not the run's fault."""
_LISTED: Final = 10
_CHECK_S: Final = 1.0
"""Interval between two checks of a worker that the tables have a format it can use."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """The result of submitting a task.

    Attributes:
        is_new: False if the tenant has submitted the same key before: `run` is that task's.
    """

    run: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue, for lists.

    Attributes:
        kept: Number of queued runs that wait for a worker of one release, by release.
    """

    queue: str
    counts: Mapping[str, int]
    oldest_wait_s: float | None
    is_paused: bool
    is_draining: bool
    limits: QueueLimits
    kept: Mapping[str, int] = field(default_factory=dict)


class Fleet:
    """The fleet of one database. Not thread-safe; every call blocks.

    Raises:
        FleetError: In every call: the database cannot be reached (`is_retryable`), or the request is not possible.
    """

    def __init__(self, url: URL, database: Database, *, new_run: Callable[[], str] = new_id) -> None:
        self.url, self._new_run = url, new_run
        self._database = database
        self._queue: Engine | None = None
        self._checked_at = -_CHECK_S
        self.call_limits = LimitStore(url, database)

    @classmethod
    def open(cls, environ: Mapping[str, str], *, new_run: Callable[[], str] = new_id) -> Fleet:
        """The fleet that the environment names; creates missing tables.

        Args:
            new_run: Returns ids of runs; called again if an id is in use.

        Raises:
            MissingExtra: The extra `fleet` is not installed.
        """
        require("fleet", "a fleet")
        return cls.at(fleet_url(environ), new_run=new_run)

    @classmethod
    def at(cls, url: URL, *, new_run: Callable[[], str] = new_id, is_patient: bool = False) -> Fleet:
        """As `open`, by the address of the database.

        Args:
            is_patient: The caller retries calls that fail because of a lost connection.
        """
        require("fleet", "a fleet")
        database = open_database(url, is_asked_first=not is_patient)
        try:
            with fleet_errors(url):
                with database.connect():
                    pass  # so that an unreachable server is reported before DBOS is loaded
                with database.begin() as connection:
                    prepare(connection, shown(url))
                    is_prepared = has_queue(connection)
            fleet = cls(url, database, new_run=new_run)
            if not is_prepared:
                fleet.prepare_queue()
        except BaseException:
            database.dispose()
            raise
        return fleet

    @property
    def _engine(self) -> Engine:
        """The queue, opened on first use: reading tasks does not wait for DBOS to load."""
        if self._queue is None:
            from rawko.fleet.dbos_queue.engine import DbosEngine

            self._queue = DbosEngine(self._database, self.url)
        return self._queue

    def prepare_queue(self) -> None:
        """Create the tables of the queue, or migrate them to the installed version."""
        self._engine.prepare()

    def close(self) -> None:
        """Close all connections."""
        if self._queue is not None:
            self._queue.close()
        self._database.dispose()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------ tasks

    def submit(self, tasks: Sequence[FleetTask]) -> Sequence[Submitted]:
        """Queue tasks, all or none.

        Raises:
            FleetError: A task cannot be queued; lists the problems of all tasks.
        """
        problems = [f"task {number}: {why}" for number, one in enumerate(tasks, 1) for why in one.problems()]
        if problems:
            raise FleetError("; ".join(problems) if len(tasks) > 1 else problems[0].partition(": ")[2])
        with self._written() as connection:
            self._refuse_draining(connection, {one.queue for one in tasks})
            return [self._add(connection, one) for one in tasks]

    @staticmethod
    def _refuse_draining(connection: Connection, queues: Collection[str]) -> None:
        held = records.held_queues(connection)
        for queue in sorted(queues):
            if held.get(queue, (False, False))[1]:
                raise FleetError(
                    f"queue {queue!r} is draining and takes no tasks; open it again with: rawko queue resume {queue}"
                )

    def submit_actors(self, actors: Sequence[ActorTask]) -> Sequence[Submitted]:
        """Queue actors, all or none; an existing actor with the same kind, tenant and input is left unchanged.

        Raises:
            FleetError: An actor cannot be queued, or its id is in use by a different one.
        """
        problems = [f"actor {number}: {why}" for number, one in enumerate(actors, 1) for why in one.problems()]
        if problems:
            raise FleetError("; ".join(problems[:_LISTED]) if len(actors) > 1 else problems[0].partition(": ")[2])
        given = {one.id: one for one in sorted(actors, key=lambda one: one.id)}
        with self._written() as connection:
            self._refuse_draining(connection, {one.queue for one in actors})
            new = records.add_actors(connection, [_actor_row(one) for one in given.values()]) if given else ()
            old = [one for one in given if one not in new]
            found = records.get_all(connection, old) if old else {}
            for one in actors:
                there = found.get(one.id) if one is given[one.id] else None
                is_same = one == given[one.id] if there is None else _is_same(one, there)
                if not is_same:
                    kind = "this call" if there is None else f"{_what(there)}, {there.state}"
                    raise FleetError(
                        f"id {one.id!r} is in use by {kind}: the same id with another kind, tenant or input; "
                        "accepted: an id of its own for each actor"
                    )
            for id in given:
                if id in new:
                    one = given[id]
                    place = {"tenant": one.tenant, "queue": one.queue, "priority": one.priority}
                    self._put(connection, id, place, delay_s=one.delay_s, is_new=True)
        return [Submitted(one.id, one.id in new) for one in actors]

    def _add(self, connection: Connection, task: FleetTask) -> Submitted:
        run = self._new_run()
        while records.get(connection, run) is not None:
            run = self._new_run()
        place = {"tenant": task.tenant, "queue": task.queue, "priority": task.priority, "key": task.key}
        same = records.add(connection, run, {**place, "task": task.to_json()})
        if same is not None:
            return Submitted(same, is_new=False)
        self._put(connection, run, place, delay_s=task.delay_s)
        return Submitted(run, is_new=True)

    def _put(
        self,
        connection: Connection,
        run: str,
        place: Mapping[str, Any],
        *,
        delay_s: float = 0.0,
        is_new: bool = False,
    ) -> None:
        self._engine.submit(
            run,
            queue=place["queue"],
            tenant=place["tenant"],
            priority=place["priority"],
            delay_s=delay_s,
            within=connection,
            is_new=is_new,
        )

    def tasks(
        self,
        *,
        states: Sequence[State] = (),
        tenant: str | None = None,
        queue: str | None = None,
        most: int = 200,
    ) -> Sequence[TaskRecord]:
        """Tasks: those that need a person first, then the latest."""
        with self._read() as connection:
            return records.listed(connection, states=states, tenant=tenant, queue=queue, most=most)

    def get(self, run: str) -> TaskRecord | None:
        """The task of a run, by its full id; None if there is none."""
        with self._read() as connection:
            return records.get(connection, run)

    def counts(self, queue: str) -> Mapping[str, int]:
        """The number of tasks of a queue, by state."""
        with self._read() as connection:
            return records.counts(connection, queue=queue).get(queue, {})

    def find(self, name: str) -> TaskRecord | None:
        """The task of a run, by its id, or by the beginning of its id or of the id's last part.

        Raises:
            FleetError: More than one task matches; lists them.
        """
        with self._read() as connection:
            found = records.get(connection, name)
            if found is not None or not name:
                return found
            runs = records.beginning_with(connection, name, _LISTED)
            if len(runs) > 1:
                raise FleetError(f"{name!r} is the beginning of several runs of the fleet: {', '.join(runs)}")
            return records.get(connection, runs[0]) if runs else None

    # ------------------------------------------------------------ of workers

    def claim(self, worker: str, queues: Sequence[str], count: int) -> Sequence[tuple[Claim, TaskRecord]]:
        """Claim up to `count` tasks; tasks that have failed too often are marked as dead instead.

        Tasks of tenants without budget are not claimed, nor are tasks kept for another release.

        The record of each task is as it was before the claim: `place` says where an earlier attempt has left its files.

        Raises:
            FleetError: Also if a newer rawko has changed the tables, so that this worker must end.
        """
        if time.monotonic() - self._checked_at >= _CHECK_S:
            self.check()
            self._checked_at = time.monotonic()
        with fleet_errors(self.url):
            back = records.held_back(self._database, own_release())
        empty: Collection[str] = ()
        if back.has_empty:
            with self._read() as connection:
                empty = used_up(connection)
        kept_for = own_release() if back.has_kept else ""
        open_queues = [queue for queue in queues if queue not in back.paused]
        if not open_queues or count <= 0:
            return ()
        claims = self._engine.claim(worker, open_queues, count, empty, kept_for)
        return self._take(worker, claims) if claims else ()

    def _take(self, worker: str, claims: Sequence[Claim]) -> list[tuple[Claim, TaskRecord]]:
        """Record claims; returns those that must be run."""
        taken, over = [], []
        with self._written() as connection:
            found = records.get_all(connection, [claim.run for claim in claims], is_locked=True)
            for claim in claims:
                task = found.get(claim.run)
                if task is None or not self._is_to_do(connection, task):
                    over.append(claim)
                else:
                    taken.append((claim, task))
            for has_begun in (False, True):
                runs = [task.run for _, task in taken if task.has_begun == has_begun]
                if runs:
                    records.begin(connection, runs, worker, **({} if has_begun else {"release": own_release()}))
        for claim in over:
            self._release_done(claim)
        return taken

    def _is_to_do(self, connection: Connection, task: TaskRecord) -> bool:
        if task.state == "running":  # its worker died before it could release it
            reason = f"its worker {task.worker} was gone in the middle of it"
            values = self._failed(connection, task, reason, task.steps, is_lost=True)
            is_dead = _is_hopeless(values)
            records.change(connection, task.run, **values, **({"state": "dead"} if is_dead else {}))
            return not is_dead
        return task.state == "queued" or (task.state == "waiting" and task.is_actor)

    @staticmethod
    def _failed(
        connection: Connection, task: TaskRecord, reason: str, steps: int, *, is_lost: bool = False
    ) -> dict[str, Any]:
        """Changed values after a failed attempt; if it made progress, it is the first of a new series of failures.

        Args:
            is_lost: Its worker died.
        """
        has_moved = steps - records.steps_before(connection, task.run) > MIN_STEPS
        failures, takeovers = (0, 0) if has_moved else (task.failures, task.takeovers)
        return {"failures": failures + (not is_lost), "takeovers": takeovers + is_lost, "reason": reason}

    def beat(
        self,
        worker: str,
        claims: Collection[Claim],
        steps: Mapping[str, tuple[int, Mapping[str, Any] | None]],
    ) -> tuple[Collection[Claim], Sequence[Letter]]:
        """Record that the worker lives, and the progress of its runs.

        Args:
            claims: All claims of the worker; other claims in its name, whose answers were lost, are freed.
            steps: By run, only of runs with news: rows of its journal, and the place of its files.

        Returns:
            The claims that are still valid, and letters for their runs, until they are deleted.
        """
        held = self._engine.beat(worker, claims, is_all=True)
        if not held:
            return held, ()
        with self._written() as connection:
            runs = sorted(claim.run for claim in held)
            records.note_steps(connection, worker, {run: steps[run] for run in runs if run in steps})
            return held, records.letters_for(connection, runs)

    def end(self, claim: Claim, worker: str, *, state: State, outcome: str, **told: Any) -> bool:
        """Record that a run has ended, asks a question, or cannot be done; False if another worker has it by now.

        Args:
            told: `report`, `reason`, `steps`.
        """
        with self._written() as connection:
            task = self._own(connection, claim, worker)
            if task is None or not self._engine.release(claim, is_done=True, within=connection):
                return False
            values = {"state": state, "outcome": outcome, "worker": None, "failures": 0, "takeovers": 0}
            records.change(connection, claim.run, **values, **told)
            if state == "ended" and task.is_actor:
                records.delete_all_letters(connection, claim.run)
        return True

    def release_resting(self, claim: Claim, worker: str, wait_s: float | None, **told: Any) -> bool:
        """Release an idle actor: an event that is sent to it, or its next timer, queues it again; otherwise as `end`.

        Args:
            wait_s: Seconds until its next timer; None if it has none.
        """
        with self._written() as connection:
            if self._own(connection, claim, worker) is None:
                return False
            has_letters = bool(records.letters_for(connection, [claim.run]))
            is_done = wait_s is None and not has_letters
            delay_s = 0.0 if has_letters or wait_s is None else wait_s
            if not self._engine.release(claim, is_done=is_done, delay_s=delay_s, within=connection):
                return False
            state = "queued" if has_letters else "waiting"
            values = {"state": state, "worker": None, "failures": 0, "takeovers": 0, "reason": None}
            records.change(connection, claim.run, **values, **told)
        return True

    def give_back(
        self,
        claim: Claim,
        worker: str,
        *,
        reason: str | None = None,
        waits_for: str = "",
        keep_for: str = "",
        delay_s: float = 0.0,
        **told: Any,
    ) -> bool:
        """Release a run to be continued elsewhere, or retried; a run that has failed too often is marked as dead.

        Args:
            reason: Why the attempt failed; None if it did not fail, and the worker just releases it.
            waits_for: What a run that did not fail waits for, in words.
            keep_for: The only release whose workers may claim it from now on.
            told: `steps`.
        """
        values: dict[str, Any] = dict(told)
        with self._written() as connection:
            task = self._own(connection, claim, worker)
            if task is None:
                return False
            is_dead = False
            if reason is not None:
                values |= self._failed(connection, task, reason, int(told.get("steps", task.steps)))
                is_dead = _is_hopeless(values)
            elif waits_for:
                values["reason"] = waits_for
            if keep_for:
                values["kept_for"] = keep_for
            how: dict[str, Any] = {"is_done": True} if is_dead else {"delay_s": delay_s, "keep_for": keep_for}
            if not self._engine.release(claim, **how, within=connection):
                return False
            records.change(connection, claim.run, state="dead" if is_dead else "queued", worker=None, **values)
        return True

    @staticmethod
    def _own(connection: Connection, claim: Claim, worker: str) -> TaskRecord | None:
        """The record of a run that this worker has, locked; None if another worker has it."""
        task = records.get(connection, claim.run, is_locked=True)
        return task if task is not None and task.worker == worker else None

    def _release_done(self, claim: Claim) -> None:
        """Release a claim as done: the run has ended, waits, or is dead. If a person answered it since its record
        said so, queue it again, which was not possible while it was claimed.
        """
        self._engine.release(claim, is_done=True)
        with self._written() as connection:
            task = records.get(connection, claim.run, is_locked=True)
            if task is not None and task.state == "queued":
                self._free(connection, task)

    def letters(self, runs: Sequence[str]) -> Sequence[Letter]:
        """Letters for runs, oldest first, including those given before, until they are deleted."""
        with fleet_errors(self.url):
            return records.letters_at_once(self._database, runs)

    def delete_letters(self, gone: Sequence[int]) -> None:
        """Delete letters that their runs have received."""
        with self._written() as connection:
            records.delete_letters(connection, gone)

    def has_waiting(self, queues: Sequence[str]) -> bool:
        """Whether a task of these queues is queued or running, apart from tasks of tenants without budget."""
        with self._read() as connection:
            counts = records.counts(connection, without=used_up(connection))
        return any(counts.get(queue, {}).get(state) for queue in queues for state in ("queued", "running"))

    def leave(self, worker: str) -> None:
        """Remove a worker that ends."""
        self._engine.forget(worker)
        with self._written() as connection:
            records.dismiss(connection, worker)

    def announce(self, worker: str, queues: Sequence[str], slots: int) -> int:
        """Record a living worker's release, queues and slots; return the number of living workers, including this one.

        Raises:
            FleetError: Also if the worker would migrate the journal to a newer format, which running workers cannot
                read.
        """
        living = [name for name in self._engine.living() if name != worker]
        values = {"release": own_release(), "format": FORMAT, "queues": list(queues), "slots": slots}
        with self._written() as connection:
            found = journal_format(connection)
            if found is not None and found < JOURNAL_FORMAT and living:
                raise FleetError(
                    f"the journal in the fleet's database {shown(self.url)} has format {found}, and this rawko would "
                    f"bring it to {JOURNAL_FORMAT}, which the workers that live cannot read ({', '.join(living)}): "
                    "end them first; their runs go on with the new ones"
                )
            records.announce(connection, worker, values, living)
        return len(living) + 1

    def workers(self) -> Sequence[WorkerRecord]:
        """The workers that live, the oldest first."""
        living = self._engine.living()
        with self._read() as connection:
            return records.list_workers(connection, living)

    def check(self) -> None:
        """Check that this rawko can use the tables as they are now.

        Raises:
            FleetError: A newer version has changed them.
        """
        with self._read() as connection:
            check_tables(connection, shown(self.url))

    # ------------------------------------------------------------ of people

    def tell(self, run: str, kind: str, who: str, text: str = "", question: int | None = None) -> TaskRecord:
        """Leave a letter for a run: an answer, a cancel, an override. A waiting run is queued again to receive it.

        Returns:
            The task as it was before.

        Raises:
            FleetError: The run does not exist, or has ended.
        """
        with self._written() as connection:
            task = records.get(connection, run, is_locked=True)
            if task is None:
                raise FleetError(f"the fleet has no run {run!r}; `rawko runs --fleet` lists them")
            if task.is_actor and kind not in (EVENT, "cancel"):
                raise FleetError(
                    f"{run!r} is an actor of a program, in the queue {task.queue!r}, and takes no {kind!r}; "
                    f"accepted: rawko cancel {run}, and events by ActorQueue.send"
                )
            if kind == "cancel" and task.is_cancelled_at_once:
                records.change(connection, run, state="ended", outcome="cancelled", reason=f"cancelled by {who}")
            elif task.state in ("ended", "dead"):
                what = "has ended" if task.state == "ended" else "is dead"
                more = f"; try it again with: rawko queue requeue {run}" if task.state == "dead" else ""
                raise FleetError(f"run {run!r} {what} ({task.outcome or task.reason}){more}")
            else:
                records.leave_letter(connection, run, kind, who, text, question)
                if task.state == "waiting":
                    records.change(connection, run, state="queued")
                    self._free(connection, task)
                return task
        self._engine.withdraw(run)
        return task

    def requeue(self, run: str) -> None:
        """Queue a dead run again, to continue from its journal; let workers of any release claim a run that is kept for
        one.

        Raises:
            FleetError: The run is neither dead nor kept.
        """
        with self._written() as connection:
            task = records.get(connection, run, is_locked=True)
            is_kept = task is not None and task.state == "queued" and task.kept_for is not None
            if task is None or not (is_kept or task.state == "dead"):
                told = "there is no such run" if task is None else f"it is {task.state}"
                raise FleetError(f"run {run!r} is not dead: {told}; `rawko runs --fleet` lists what is dead")
            records.change(connection, run, state="queued", failures=0, takeovers=0, outcome=None)
            self._free(connection, task)

    def _free(self, connection: Connection, task: TaskRecord) -> None:
        """Queue a run for the workers of any release."""
        records.change(connection, task.run, kept_for=None)
        self._put(connection, task.run, _place(task))

    # ------------------------------------------------------------ queues

    def queues(self) -> Sequence[QueueState]:
        """All queues that have, or had, tasks or limits."""
        with self._read() as connection:
            counts, waits = records.counts(connection), records.oldest_wait_s(connection)
            held, kept = records.held_queues(connection), records.kept(connection)
        return [
            QueueState(
                queue,
                counts.get(queue, {}),
                waits.get(queue),
                *held.get(queue, (False, False)),
                self._engine.limits(queue),
                {release: count for (of, release), count in kept.items() if of == queue},
            )
            for queue in sorted({*counts, *held})
        ]

    def hold(self, queue: str, *, is_paused: bool | None = None, is_draining: bool | None = None) -> None:
        """Pause a queue (none of its tasks is claimed), drain it (it accepts no new tasks), or end either."""
        values = {"is_paused": is_paused, "is_draining": is_draining}
        with self._written() as connection:
            records.hold_queue(connection, queue, **{name: one for name, one in values.items() if one is not None})

    def limits(self, queue: str, change: QueueLimits | None = None) -> QueueLimits:
        """The bounds of a queue, after `change` if given."""
        if change is not None:
            self.hold(queue, is_draining=None, is_paused=self._is_paused(queue))
        return self._engine.limits(queue, change)

    def _is_paused(self, queue: str) -> bool:
        with self._read() as connection:
            return records.held_queues(connection).get(queue, (False, False))[0]

    # ------------------------------------------------------------ transactions

    @contextmanager
    def _written(self) -> Iterator[Connection]:
        with fleet_errors(self.url), self._database.begin() as connection:
            yield connection

    _read = _written

    reading = _written
    """A transaction for queries on the tables of `rawko.fleet.tables`."""


def _actor_row(task: ActorTask) -> dict[str, Any]:
    place = {"tenant": task.tenant, "queue": task.queue, "priority": task.priority}
    return {"run": task.id, **place, "task": task.to_json()}


def _is_same(task: ActorTask, there: TaskRecord) -> bool:
    """Whether an existing actor is the same as the one to be queued."""
    return (there.queue, there.tenant, there.task.get("input")) == (task.queue, task.tenant, task.input)


def _what(task: TaskRecord) -> str:
    return f"an actor of queue {task.queue!r}" if task.is_actor else f"a run of queue {task.queue!r}"


def _place(task: TaskRecord) -> Mapping[str, Any]:
    return {"tenant": task.tenant, "queue": task.queue, "priority": task.priority}


def _is_hopeless(values: Mapping[str, Any]) -> bool:
    return bool(values["failures"] >= MAX_FAILURES or values["takeovers"] >= MAX_TAKEOVERS)
