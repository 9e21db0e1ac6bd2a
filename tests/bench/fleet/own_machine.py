"""rawko with a machine of one's own: a chart of two states on the fleet's worker for actors, a journal row per call.

The same calls as the plain way of DBOS makes, by the same functions, without what runs of rawko's agents have beside
them: no snapshots of files, no gate, no process for each run.

python -m tests.bench.fleet.own_machine ADDRESS SLOTS ANSWER_S    # a worker, until it is ended
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from sqlalchemy import func, select

from rawko import Bindings, Event, assign, parse_chart
from rawko.fleet.actors import ActorKind, ActorQueue, ActorWorker
from rawko.fleet.database import open_database
from rawko.fleet.tables import tasks
from rawko.interpreter.data.values import thaw
from tests.bench.fleet.contender import Place, start
from tests.bench.fleet.work import ask, carry_out

QUEUE: Final = "bench"
CHART: Final = """
statechart:
  name: bench_run
  root state:
    name: bench_run
    initial: asking
    output: summary
    states:
    - name: asking
      invoke:
        src: ask_model
        input: question
        on done:
        - {guard: is_complete, target: complete, action: keep_summary}
        - {target: writing, action: count_turn}
        on error: failed
    - name: writing
      invoke: {src: write_file, input: order, on done: asking, on error: failed}
    - {name: complete, type: final}
    - {name: failed, type: final}
"""


class OwnMachine:
    """The contender."""

    name = "rawko, a machine of one's own"

    def prepare(self, place: Place) -> None:
        self._place = place
        self._queue = ActorQueue(place.address, QUEUE)
        self._runner = asyncio.Runner()
        self._runner.run(self._queue.open())
        self._database = open_database(place.url)

    def worker(self, number: int) -> subprocess.Popen[bytes]:
        words = ["-m", "tests.bench.fleet.own_machine", self._place.address]
        words += [str(self._place.slots), str(self._place.answer_s)]
        return start(words, self._place, os.environ, number)

    def submit(self, names: Sequence[str]) -> None:
        inputs = {name: {"folder": str(self.workspace(name)), "steps": self._place.steps, "turn": 0} for name in names}
        self._runner.run(self._queue.submit_all(inputs))

    def ended(self) -> int:
        with self._database.begin() as connection:
            counted = connection.execute(select(tasks.c.state, func.count()).group_by(tasks.c.state))
            states = {state: int(count) for state, count in counted}
            if states.get("dead") or states.get("waiting"):
                reason = connection.scalar(select(tasks.c.reason).where(tasks.c.state.in_(("dead", "waiting"))))
                raise RuntimeError(f"an actor did not end: {reason}")
        return states.get("ended", 0)

    def workspace(self, name: str) -> Path:
        return self._place.folder / "actors" / name

    def close(self) -> None:
        self._runner.run(self._queue.aclose())
        self._runner.close()
        self._database.dispose()


def work(address: str, slots: int, answer_s: float) -> None:
    """A worker."""
    bindings = Bindings()

    @bindings.actor
    async def ask_model(input: Any) -> dict[str, Any]:
        return await asyncio.to_thread(ask, input.turn, input.steps, answer_s)

    @bindings.actor
    async def write_file(input: Any) -> str:
        return await asyncio.to_thread(carry_out, input.folder, thaw(input.answer))

    @bindings.input
    def question(context: Any, event: Event) -> Any:
        return {"turn": context.turn, "steps": context.steps}

    @bindings.input
    def order(context: Any, event: Event) -> Any:
        return {"folder": context.folder, "answer": event.output}

    @bindings.guard
    def is_complete(context: Any, event: Event) -> bool:
        return bool(event.output.tool == "complete")

    @bindings.action
    def count_turn(context: Any, event: Event) -> Any:
        return assign(turn=context.turn + 1)

    @bindings.action
    def keep_summary(context: Any, event: Event) -> Any:
        return assign(summary=event.output.summary)

    @bindings.output
    def summary(context: Any, event: Event) -> Any:
        return context.get("summary")

    chart = parse_chart(CHART)
    worker = ActorWorker(address, {QUEUE: ActorKind(chart, bindings)}, slots=slots, tell=partial(print, flush=True))
    asyncio.run(worker.run())


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
