"""rawko's fleet: `rawko worker`, a process for each run, a journal row for each step of its machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import func, select

from rawko.fleet.database import open_database
from rawko.fleet.fleet import Fleet
from rawko.fleet.tables import tasks
from rawko.fleet.task import FleetTask
from tests.bench.fleet.contender import Place, start
from tests.bench.fleet.work import AGENT, as_text


class Rawko:
    """The contender that this is about."""

    name = "rawko"

    def prepare(self, place: Place) -> None:
        self._place = place
        self._scenario = place.folder / "scenario.json"
        self._scenario.write_text(as_text(place.steps, place.answer_s), encoding="utf-8")
        (place.folder / "home").mkdir()
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(place.folder / "home"),
            "LANG": "C.UTF-8",
            "RAWKO_STATE_DIR": str(place.folder / "state"),
            "RAWKO_FLEET_DIR": str(place.folder / "fleet"),
            "RAWKO_FLEET_URL": place.address,
        }
        self._fleet = Fleet.open(self._environ)
        self._database = open_database(self._fleet.url)
        self._runs: dict[str, str] = {}

    def worker(self, number: int) -> subprocess.Popen[bytes]:
        words = ["-m", "rawko", "worker", "--slots", str(self._place.slots)]
        return start(words, self._place, self._environ, number)

    def submit(self, names: Sequence[str]) -> None:
        flags = {"provider": "scripted", "scenario": str(self._scenario), "assume_yes": True}
        queued = self._fleet.submit([FleetTask("Write the parts.", agent=AGENT, flags=flags) for _ in names])
        self._runs |= {name: one.run for name, one in zip(names, queued, strict=True)}

    def ended(self) -> int:
        with self._database.begin() as connection:
            counted = connection.execute(select(tasks.c.state, func.count()).group_by(tasks.c.state))
            states = {state: int(count) for state, count in counted}
            if states.get("dead") or states.get("waiting"):
                reason = connection.scalar(select(tasks.c.reason).where(tasks.c.state.in_(("dead", "waiting"))))
                raise RuntimeError(f"a run of rawko did not end: {reason}")
        return states.get("ended", 0)

    def workspace(self, name: str) -> Path:
        return self._place.folder / "fleet" / "workspaces" / self._runs[name]

    def close(self) -> None:
        self._fleet.close()
        self._database.dispose()
