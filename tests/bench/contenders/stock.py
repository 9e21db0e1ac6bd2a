"""Stock sismic: the same YAML, with Python text as guards and actions; `queue` and `execute_once`."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from sismic.interpreter import Interpreter
from sismic.io import import_from_yaml

from tests.bench.cases import Case
from tests.bench.charts import State
from tests.bench.contenders.base import Play, PythonContender, require_no_code
from tests.bench.contenders.ours import text_of


def _text(chart: State, entry: str | None = None) -> str:
    text = text_of(chart, entry=entry)
    text = re.sub(r"guard: is_below\(limit=(\d+)\)", r"guard: n < \1", text)
    text = re.sub(r"action: up\(by=(\d+)\)", r"action: n += \1", text)
    return text.replace("guard: is_counting", "guard: n >= 0").replace("action: up", "action: n += 1")


class Sismic(PythonContender):
    name = "sismic"

    def version(self) -> str:
        return version("sismic")

    def definition(self, chart: State, entered: Callable[..., Any] | None = None) -> Any:
        require_no_code(chart)
        return import_from_yaml(_text(chart, "entered()" if entered else None)), entered

    def machine(self, definition: Any) -> Any:
        statechart, entered = definition
        machine = Interpreter(statechart, initial_context={"n": 0, **({"entered": entered} if entered else {})})
        machine.execute_once()
        return machine

    def sender(self, machine: Any) -> Callable[..., Any]:
        queue, execute_once = machine.queue, machine.execute_once

        def send(event: str, **data: Any) -> None:
            queue(event, **data)
            execute_once()

        return send

    def player(self, machine: Any, case: Case) -> Play:
        queue, execute_once, events, data = machine.queue, machine.execute_once, case.events, case.data

        def play() -> None:
            for event in events:
                queue(event, **data)
                execute_once()

        return play

    def active(self, machine: Any) -> list[str]:
        return list(machine.configuration)

    def play_listener(self, case: Case) -> Play:
        machine = self.machine(self.definition(case.chart))
        machine.attach(lambda event: None)
        return self.player(machine, case)

    def play_load(self, case: Case) -> Play:
        text = _text(case.chart)
        return lambda: import_from_yaml(text)
