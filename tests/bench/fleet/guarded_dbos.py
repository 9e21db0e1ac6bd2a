"""DBOS with what rawko promises of a run, as a user of DBOS would write it.

The plain way keeps the files of a run on the machine that has written them. Here, as in rawko,

    files travel       after each call of a tool the files are committed, and the new objects are stored in PostgreSQL
                       before the step is: another machine goes on with them (`take_up`)
    a permission       is checked before each call of a tool
    runs end alone     each has a process of its own, forked from one that has loaded what it needs; the workflow,
                       in the worker, sends it the calls

python -m tests.bench.fleet.guarded_dbos ADDRESS SLOTS ANSWER_S FILES    # a worker; FILES: git or pygit2
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from tests.bench.fleet.captured_files import BY_NAME, Files
from tests.bench.fleet.contender import Place, start
from tests.bench.fleet.plain_dbos import POLLING_S, QUEUE, SCHEMA, VERSION, PlainDbos
from tests.bench.fleet.work import ask, carry_out, is_allowed

PACKS: Final = """CREATE TABLE IF NOT EXISTS packs (
    run text, number int, head text NOT NULL, data bytea NOT NULL, PRIMARY KEY (run, number))"""
_KEEP: Final = """INSERT INTO packs (run, number, head, data) VALUES (%s, %s, %s, %s)
    ON CONFLICT (run, number) DO UPDATE SET head = excluded.head, data = excluded.data"""
_KEPT: Final = "SELECT head, data FROM packs WHERE run = %s AND number < %s ORDER BY number"


class GuardedDbos(PlainDbos):
    """The way with the same promises.

    Args:
        files: Which git commits and packs the files: "git" (its commands), or "pygit2".
    """

    def __init__(self, files: str) -> None:
        self.name = f"DBOS with the same promises, by {files}"
        self._files = files

    def prepare(self, place: Place) -> None:
        super().prepare(place)
        import psycopg

        with psycopg.connect(place.address) as connection:
            connection.execute(PACKS)

    def worker(self, number: int) -> subprocess.Popen[bytes]:
        place = self._place
        words = ["-m", "tests.bench.fleet.guarded_dbos", place.address, str(place.slots), str(place.answer_s)]
        return start([*words, self._files], place, os.environ, number)

    def workspace(self, name: str) -> Path:
        return self._place.folder / "guarded" / name


# ---------------------------------------------------------------- the process of a run


def perform(pipe: Connection, folder: str, files: str, answer_s: float) -> None:
    """Carry out calls that come over a pipe, until it is closed."""
    captured: Files = BY_NAME[files](Path(folder))
    while True:
        try:
            call, *given = pipe.recv()
        except EOFError:
            os._exit(0)
        pipe.send(_carried_out(captured, folder, answer_s, call, given))


def _carried_out(captured: Files, folder: str, answer_s: float, call: str, given: list[Any]) -> Any:
    match call:
        case "take up":
            return captured.take_up(given[0])
        case "ask":
            return ask(given[0], given[1], answer_s)
        case _:
            said = carry_out(folder, given[0])
            return said, *captured.capture()


class RunProcess:
    """The process of a run, as its workflow sees it."""

    def __init__(self, context: Any, folder: str, files: str, answer_s: float) -> None:
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=perform, args=(there, folder, files, answer_s), daemon=True)
        self._process.start()
        there.close()

    def call(self, name: str, *given: Any) -> Any:
        """The answer of a call.

        Raises:
            EOFError: The process has ended.
        """
        self._pipe.send((name, *given))
        return self._pipe.recv()

    def close(self) -> None:
        """End it."""
        self._pipe.close()
        self._process.join()


def work(address: str, slots: int, answer_s: float, files: str) -> None:
    """A worker."""
    import psycopg
    from dbos import DBOS

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.bench.fleet.guarded_dbos", "pygit2"])
    own = threading.local()
    DBOS(
        config={
            "name": "bench",
            "system_database_url": address,
            "dbos_system_schema": SCHEMA,
            "application_version": VERSION,
            "log_level": "ERROR",
            "run_migrations": False,
        }
    )

    def database() -> Any:
        """The connection of this thread; each statement stands by itself."""
        if not hasattr(own, "connection"):
            own.connection = psycopg.connect(address, autocommit=True)
        return own.connection

    processes: dict[str, RunProcess] = {}

    @DBOS.step()
    def ask_model(run: str, turn: int, steps: int) -> dict[str, Any]:
        answered: dict[str, Any] = processes[run].call("ask", turn, steps)
        return answered

    @DBOS.step()
    def write_file(run: str, turn: int, answered: dict[str, Any]) -> str:
        # What an attempt that was killed has written goes: the files are what the steps before have left.
        if turn == 0 or run not in taken_up:
            processes[run].call("take up", database().execute(_KEPT, (run, turn)).fetchall())
            taken_up.add(run)
        said, head, data = processes[run].call("write", answered)
        database().execute(_KEEP, (run, turn, head, data))
        return str(said)

    taken_up: set[str] = set()

    @DBOS.workflow(name="bench_run")
    def bench_run(folder: str, steps: int) -> str:
        run = Path(folder).name
        processes[run] = RunProcess(context, folder, files, answer_s)
        try:
            turn = 0
            while (answered := ask_model(run, turn, steps))["tool"] != "complete":
                if not is_allowed(folder, answered):
                    raise PermissionError(f"{answered['tool']} of {answered.get('file_path')!r} is not allowed")
                write_file(run, turn, answered)
                turn += 1
            return str(answered["summary"])
        finally:
            taken_up.discard(run)
            processes.pop(run).close()

    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=slots, polling_interval_sec=POLLING_S)
    threading.Event().wait()


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
