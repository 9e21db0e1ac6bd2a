"""xstate-statemachine, XState's namesake in Python: machine JSON, the synchronous interpreter; `send`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tests.bench.cases import Case
from tests.bench.charts import State
from tests.bench.contenders.base import Missing, Play, PythonContender, require_no_code
from tests.bench.contenders.xstate_json import machine_json


def up(interpreter: Any, context: Any, event: Any, action: Any) -> None:
    context["n"] += 1


def is_counting(context: Any, event: Any) -> bool:
    return bool(context["n"] >= 0)


def is_below(context: Any, event: Any, params: Any) -> bool:
    return bool(context["n"] < params["limit"])


class XStateStateMachine(PythonContender):
    name = "xstate-statemachine"

    def version(self) -> str:
        try:
            return version("xstate-statemachine")
        except PackageNotFoundError:
            raise Missing("not installed") from None

    def definition(self, chart: State, entered: Callable[..., Any] | None = None) -> Any:
        require_no_code(chart)
        return self._made(machine_json(chart, entry="entered" if entered else None), entered)

    def _made(self, machine: dict[str, Any], entered: Callable[..., Any] | None = None) -> Any:
        library = importlib.import_module("xstate_statemachine")
        actions: dict[str, Any] = {"up": up}
        if entered is not None:
            actions["entered"] = entered
        text = json.dumps(machine)
        used = {name: function for name, function in actions.items() if f'"{name}"' in text}
        guards = {guard.__name__: guard for guard in (is_counting, is_below) if f'"{guard.__name__}"' in text}
        return library.create_machine(machine, logic=library.MachineLogic(actions=used, guards=guards))

    def machine(self, definition: Any) -> Any:
        return importlib.import_module("xstate_statemachine").SyncInterpreter(definition).start()

    def sender(self, machine: Any) -> Callable[[str], Any]:
        send: Callable[[str], Any] = machine.send
        return send

    def active(self, machine: Any) -> list[str]:
        return [id.split(".")[-1] for id in machine.current_state_ids]

    def play_subscriber(self, case: Case) -> Play:
        machine = self.machine(self.definition(case.chart))
        machine.subscribe(lambda *arguments: None)
        return self.player(machine, case)

    def play_load(self, case: Case) -> Play:
        text = json.dumps(machine_json(case.chart))
        return lambda: self._made(json.loads(text))
