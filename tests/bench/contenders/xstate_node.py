"""XState itself, in a node process that measures its own CPU time."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import IO, Any

from tests.bench.cases import Case
from tests.bench.contenders.base import Missing, Runner, Seen, Unsupported
from tests.bench.contenders.xstate_json import machine_json
from tests.formats.xstate_node import NoXState, installed_xstate

HERE = Path(__file__).parent
OPERATIONS = frozenset({"events", "first", "subscriber", "create", "life", "load", "snapshot", "restore", "pure"})


class Node:
    """One node process with one machine."""

    warm_up_s = 1.5

    def __init__(self, folder: Path, case: Case, events: tuple[str, ...], operation: str) -> None:
        driver = folder / "bench.mjs"
        driver.write_bytes((HERE / "xstate.mjs").read_bytes())
        command = ["node", "--expose-gc", str(driver)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        prepare = {
            "machine": machine_json(case.chart),
            "counted": machine_json(case.chart, entry="entered"),
            "events": events,
            "warmUp": case.warm_up,
            "data": case.data,
            "payloads": case.payloads,
            "operation": operation,
        }
        self.seen: Seen = [(tuple(leaves), count) for leaves, count in self._ask({"prepare": prepare})["seen"]]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        requests: IO[str] | None = self._process.stdin
        answers: IO[str] | None = self._process.stdout
        assert requests is not None and answers is not None
        requests.write(json.dumps(request) + "\n")
        requests.flush()
        answer: dict[str, Any] = json.loads(answers.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def measure(self, rounds: int) -> float:
        seconds: float = self._ask({"measure": rounds})["seconds"]
        return seconds

    def bytes_per_machine(self, count: int) -> float:
        found: float = self._ask({"memory": count})["bytes"]
        return found

    def close(self) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()


class XState:
    """XState on node."""

    name = "XState (node)"

    def version(self) -> str:
        if shutil.which("node") is None:
            raise Missing("node is not installed")
        try:
            self._folder = installed_xstate()
        except NoXState as error:
            raise Missing(str(error)) from None
        package = json.loads((self._folder / "node_modules" / "xstate" / "package.json").read_text(encoding="utf-8"))
        node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
        return f"{package['version']} on {node}"

    def verify(self, case: Case, events: list[str]) -> Seen:
        node = Node(self._folder, case, tuple(events), "events")
        node.close()
        return node.seen

    def prepare(self, case: Case) -> Runner:
        if case.operation not in OPERATIONS:
            raise Unsupported("no such thing")
        return Node(self._folder, case, case.events, case.operation)

    def bytes_per_machine(self, case: Case, count: int) -> float:
        node = Node(self._folder, case, (), "events")
        try:
            return node.bytes_per_machine(count)
        finally:
            node.close()
