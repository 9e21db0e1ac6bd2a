"""DBOS as its documentation shows it: a workflow per run, and in it one step per call of the model or of a tool.

python -m tests.bench.fleet.plain_dbos ADDRESS SLOTS ANSWER_S    # a worker, until it is ended
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sqlalchemy import create_engine, text

from tests.bench.fleet.contender import Place, start
from tests.bench.fleet.work import ask, carry_out

QUEUE: Final = "bench"
VERSION: Final = "bench-1"
SCHEMA: Final = "plain_dbos"
POLLING_S: Final = 0.1
"""Its own default of 1 s would leave workers idle between two short runs."""


class PlainDbos:
    """The plain way."""

    name = "DBOS, a step per call"

    def prepare(self, place: Place) -> None:
        from dbos import DBOSClient

        self._place = place
        url = place.url.set(drivername="postgresql+psycopg")
        self._database = create_engine(url)
        self._client = DBOSClient(system_database_url=place.address, dbos_system_schema=SCHEMA)
        self._client._sys_db.run_migrations()  # a worker would do it, too; two at a time wait for each other
        self._client.register_queue(QUEUE, worker_concurrency=place.slots, polling_interval_sec=POLLING_S)

    def worker(self, number: int) -> subprocess.Popen[bytes]:
        words = ["-m", "tests.bench.fleet.plain_dbos", self._place.address]
        words += [str(self._place.slots), str(self._place.answer_s)]
        return start(words, self._place, os.environ, number)

    def submit(self, names: Sequence[str]) -> None:
        for name in names:
            options: Any = {
                "workflow_name": "bench_run",
                "queue_name": QUEUE,
                "workflow_id": name,
                "app_version": VERSION,
            }
            self._client.enqueue(options, str(self.workspace(name)), self._place.steps)

    def ended(self) -> int:
        with self._database.begin() as connection:
            query = text(f"SELECT status, count(*) FROM {SCHEMA}.workflow_status GROUP BY status")
            found = {str(row["status"]): int(row["count"]) for row in connection.execute(query).mappings()}
        if failed := set(found) - {"SUCCESS", "PENDING", "ENQUEUED"}:
            raise RuntimeError(f"workflows of DBOS did not end: {failed}")
        return found.get("SUCCESS", 0)

    def workspace(self, name: str) -> Path:
        return self._place.folder / "dbos" / name

    def close(self) -> None:
        self._client.destroy()
        self._database.dispose()


def work(address: str, slots: int, answer_s: float) -> None:
    """A worker."""
    from dbos import DBOS

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

    @DBOS.step()
    def ask_model(turn: int, steps: int) -> dict[str, Any]:
        return ask(turn, steps, answer_s)

    @DBOS.step()
    def write_file(folder: str, answered: dict[str, Any]) -> str:
        return carry_out(folder, answered)

    @DBOS.workflow(name="bench_run")
    def bench_run(folder: str, steps: int) -> str:
        turn = 0
        while (answered := ask_model(turn, steps))["tool"] != "complete":
            write_file(folder, answered)
            turn += 1
        return str(answered["summary"])

    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=slots, polling_interval_sec=POLLING_S)
    threading.Event().wait()


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
