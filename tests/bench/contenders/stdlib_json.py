"""Python's own json module with the text of our snapshots: no library that works with plain data can take less."""

from __future__ import annotations

import json
from platform import python_version

from tests.bench.cases import Case
from tests.bench.contenders.base import InProcess, Play, Seen, Unsupported
from tests.bench.contenders.ours import Rawko


class StdlibJson(Rawko):
    """`json.dumps` and `json.loads`; it is no machine, and plays nothing else."""

    name = "json (stdlib)"

    def version(self) -> str:
        return python_version()

    def verify(self, case: Case, events: list[str]) -> Seen:
        self._refuse(case)
        return super().verify(case, events)

    def prepare(self, case: Case) -> InProcess:
        self._refuse(case)
        return super().prepare(case)

    def bytes_per_machine(self, case: Case, count: int) -> float:
        raise Unsupported("no machine")

    def play_snapshot(self, case: Case) -> Play:
        snapshot = self._moved(case).snapshot()
        return lambda: json.dumps(snapshot)

    def play_restore(self, case: Case) -> Play:
        text = self._moved(case).snapshot_json()
        return lambda: json.loads(text)

    @staticmethod
    def _refuse(case: Case) -> None:
        if case.operation not in ("snapshot", "restore"):
            raise Unsupported("no machine")
