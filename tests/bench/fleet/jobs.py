"""procrastinate: a chain of jobs per run, one per call of the model or of a tool; each queues the next one.

python -m tests.bench.fleet.jobs ADDRESS SLOTS ANSWER_S    # a worker, until it is ended
"""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sqlalchemy import create_engine, text

from tests.bench.fleet.contender import Missing, Place, start
from tests.bench.fleet.work import answer, carry_out

LAST: Final = "summary"
"""Of the answer that ends a run."""


class Procrastinate:
    """A queue of jobs without workflows."""

    name = "procrastinate, a job per call"

    def prepare(self, place: Place) -> None:
        self._place = place
        self._database = create_engine(place.url.set(drivername="postgresql+psycopg"))
        app, _ = _app(place.address)

        async def make_tables() -> None:
            async with app.open_async():
                await app.schema_manager.apply_schema_async()

        asyncio.run(make_tables())

    def worker(self, number: int) -> subprocess.Popen[bytes]:
        words = ["-m", "tests.bench.fleet.jobs", self._place.address]
        words += [str(self._place.slots), str(self._place.answer_s)]
        return start(words, self._place, os.environ, number)

    def submit(self, names: Sequence[str]) -> None:
        app, ask_model = _app(self._place.address)

        async def queue() -> None:
            async with app.open_async():
                for name in names:
                    folder = str(self.workspace(name))
                    await ask_model.defer_async(folder=folder, turn=0, steps=self._place.steps)

        asyncio.run(queue())

    def ended(self) -> int:
        """Runs of which the job of the last answer is done."""
        query = """SELECT count(*) FROM procrastinate_jobs
            WHERE status = 'succeeded' AND task_name = 'bench.end_run'"""
        with self._database.begin() as connection:
            if connection.scalar(text("SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed'")):
                raise RuntimeError("a job of procrastinate has failed")
            return int(connection.scalar(text(query)) or 0)

    def workspace(self, name: str) -> Path:
        return self._place.folder / "jobs" / name

    def close(self) -> None:
        self._database.dispose()


def _app(address: str, answer_s: float = 0.0) -> tuple[Any, Any]:
    """The application with its jobs; the first of a run."""
    try:
        procrastinate: Any = importlib.import_module("procrastinate")
    except ImportError as error:
        raise Missing("not installed: pip install 'rawko[bench]'") from error
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=address))
    jobs: dict[str, Any] = {}

    async def end_run(folder: str, answered: dict[str, Any]) -> str:
        return str(answered[LAST])

    async def write_file(folder: str, turn: int, steps: int, answered: dict[str, Any]) -> None:
        carry_out(folder, answered)
        await jobs["ask_model"].defer_async(folder=folder, turn=turn + 1, steps=steps)

    async def ask_model(folder: str, turn: int, steps: int) -> None:
        await asyncio.sleep(answer_s)
        answered = answer(turn, steps)
        if LAST in answered:
            await jobs["end_run"].defer_async(folder=folder, answered=answered)
        else:
            await jobs["write_file"].defer_async(folder=folder, turn=turn, steps=steps, answered=answered)

    for job in (end_run, write_file, ask_model):
        jobs[job.__name__] = app.task(name=f"bench.{job.__name__}")(job)
    return app, jobs["ask_model"]


def work(address: str, slots: int, answer_s: float) -> None:
    """A worker."""
    app, _ = _app(address, answer_s)

    async def run() -> None:
        async with app.open_async():
            await app.run_worker_async(concurrency=slots, fetch_job_polling_interval=0.1, install_signal_handlers=False)

    asyncio.run(run())


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
