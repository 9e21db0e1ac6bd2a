"""One contender measured: its workers are warmed up; the clock runs from the first run queued to the last end."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench.fleet.contender import Contender, Place
from tests.bench.fleet.work import problem
from tests.fleet.databases import fresh_database

PATIENCE_S = 3600


@dataclass(frozen=True, slots=True)
class Load:
    """What is carried out, with a model that takes `answer_s` for an answer."""

    runs: int
    steps: int
    workers: int
    slots: int
    answer_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of it.

    Attributes:
        seconds: From the first task queued to the last run ended.
        connections: Sessions of the database, at most.
        transactions: Committed while the clock ran.
        database_bytes: That the database has grown by.
        worker_cpu_s, database_cpu_s: Time of processors that the workers with all that they start, and the server's
            processes, have taken while the clock ran.
    """

    name: str
    seconds: float
    connections: int
    transactions: int
    database_bytes: int
    worker_cpu_s: float
    database_cpu_s: float


class Wrong(Exception):
    """A contender has not done the work."""


def measure(contender: Contender, load: Load) -> Measured:
    """Carry out the runs once.

    Raises:
        Missing: The contender is not installed.
        Wrong: It has not written every file of every run.
    """
    with fresh_database(is_empty=True) as url, tempfile.TemporaryDirectory() as folder:
        place = Place(url, Path(folder), load.steps, load.workers, load.slots, load.answer_s)
        contender.prepare(place)
        workers: list[subprocess.Popen[bytes]] = []
        try:
            workers = [contender.worker(number) for number in range(load.workers)]
            warm = [f"warm{number}" for number in range(load.workers * load.slots)]
            contender.submit(warm)
            _wait(contender, len(warm), workers, place, lambda: None)
            names = [f"run{number:05}" for number in range(load.runs)]
            counters = _Counters(place, workers)
            began = time.monotonic()
            contender.submit(names)
            _wait(contender, len(warm) + load.runs, workers, place, counters.look)
            seconds = time.monotonic() - began
            worker_cpu_s, database_cpu_s = counters.cpu()
            transactions, grown = counters.end()
            if wrong := [told for name in names if (told := problem(contender.workspace(name), load.steps))]:
                raise Wrong(f"{contender.name}: {len(wrong)} of {load.runs} runs are wrong: {wrong[0]}")
            asked = (counters.connections, transactions, grown)
            return Measured(contender.name, seconds, *asked, worker_cpu_s, database_cpu_s)
        finally:
            for worker in workers:
                _end(worker)
            contender.close()


def _wait(
    contender: Contender,
    count: int,
    workers: Sequence[subprocess.Popen[bytes]],
    place: Place,
    look: Callable[[], None],
) -> None:
    until = time.monotonic() + PATIENCE_S
    while contender.ended() < count:
        look()
        for number, worker in enumerate(workers):
            if worker.poll() is not None or time.monotonic() > until:
                said = (place.folder / f"worker-{number}.log").read_text("utf-8", "replace")
                raise Wrong(f"{contender.name}: worker {number} ended, or does not end its runs: {said[-2000:]}")
        time.sleep(0.1)


class _Counters:
    """What the database and the system say while the runs go on; the database over a connection to another one."""

    def __init__(self, place: Place, workers: Sequence[subprocess.Popen[bytes]]) -> None:
        import psycopg

        self._name = place.url.database
        self._asking = psycopg.connect(place.address.replace(f"/{self._name}", "/postgres"), autocommit=True)
        self._workers = [psutil.Process(worker.pid) for worker in workers]
        self._server = psutil.Process(self._asking.info.backend_pid).parent()
        self.connections = 0
        self._before = self._read()
        self._cpu_before = self._cpu()

    def _read(self) -> tuple[int, int]:
        row = self._asking.execute(
            "SELECT xact_commit, pg_database_size(datname) FROM pg_stat_database WHERE datname = %s", [self._name]
        ).fetchone()
        assert row is not None
        return int(row[0]), int(row[1])

    def _cpu(self) -> tuple[float, float]:
        return sum(_cpu_of(worker) for worker in self._workers), _cpu_of(self._server)

    def cpu(self) -> tuple[float, float]:
        """Seconds of processors of the workers and of the server since the beginning."""
        now = self._cpu()
        return now[0] - self._cpu_before[0], now[1] - self._cpu_before[1]

    def look(self) -> None:
        """Count the sessions of this moment."""
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        row = self._asking.execute(query, [self._name]).fetchone()
        self.connections = max(self.connections, 0 if row is None else int(row[0]))

    def end(self) -> tuple[int, int]:
        """Transactions and bytes since the beginning."""
        time.sleep(1.5)  # sessions report what they have done within a second
        now = self._read()
        self._asking.close()
        return now[0] - self._before[0], now[1] - self._before[1]


def _cpu_of(top: psutil.Process | None) -> float:
    """Seconds of processors that a process, and all that came of it, have taken, ended ones included."""
    total = 0.0
    for one in () if top is None else (top, *top.children(recursive=True)):
        try:
            times = one.cpu_times()
        except psutil.NoSuchProcess:  # it has ended meanwhile, and counts with its parent
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _end(worker: subprocess.Popen[bytes]) -> None:
    """End a worker with all that it has started."""
    if worker.poll() is None:
        family = psutil.Process(worker.pid).children(recursive=True)
        os.killpg(worker.pid, signal.SIGKILL)
        for one in family:
            try:
                one.kill()
            except psutil.NoSuchProcess:
                pass
    worker.wait()
