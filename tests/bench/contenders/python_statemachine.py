"""python-statemachine: a StateChart class made from a definition; `send`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tests.bench.cases import Case
from tests.bench.charts import State
from tests.bench.contenders.base import Missing, Play, PythonContender, require_no_code


class Model:
    """What guards and actions work on."""

    def __init__(self) -> None:
        self.n = 0
        self.state: Any = None


def is_counting(model: Model) -> bool:
    return model.n >= 0


def up(model: Model) -> None:
    model.n += 1


def code(name: str | None, n: int | None) -> Any:
    """A guard or an action as the library takes it; those with a number are closures."""

    def is_below(model: Model) -> bool:
        return model.n < (n or 0)

    def add(model: Model) -> None:
        model.n += n or 0

    if n is None:
        return {None: None, "is_counting": is_counting, "up": up}[name]
    return {None: None, "is_below": is_below, "up": add}[name]


class PythonStateMachine(PythonContender):
    name = "python-statemachine"

    def version(self) -> str:
        try:
            return version("python-statemachine")
        except PackageNotFoundError:
            raise Missing("not installed") from None

    def definition(self, chart: State, entered: Callable[..., Any] | None = None) -> Any:
        require_no_code(chart)
        make = importlib.import_module("statemachine.io").create_machine_class_from_definition
        children = _children(chart, entered)
        if chart.get("kind") == "parallel":
            children = {"root": {"initial": True, "parallel": True, "states": children}}
        return make("Bench", children, validate_final_reachability=False, validate_trap_states=False)

    def machine(self, definition: Any) -> Any:
        return definition(Model())

    def sender(self, machine: Any) -> Callable[[str], Any]:
        send: Callable[[str], Any] = machine.send
        return send

    def active(self, machine: Any) -> list[str]:
        return [state.id for state in machine.configuration]

    def play_subscriber(self, case: Case) -> Play:
        class Listener:
            def after_transition(self, event: str) -> None: ...

        machine = self.definition(case.chart)(Model(), listeners=[Listener()])
        return self.player(machine, case)

    def play_load(self, case: Case) -> Play:
        return lambda: self.definition(case.chart)


def _children(state: State, entered: Callable[..., Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, child in state["states"].items():
        kind = child.get("kind", "")
        if "history" in kind:
            continue
        row: dict[str, Any] = {
            "initial": name == state.get("initial"),
            "final": kind == "final",
            "parallel": kind == "parallel",
        }
        if entered is not None:
            row["enter"] = _counting(entered)
        if child.get("states"):
            row["states"] = _children(child, entered)
            histories = {n: s["kind"] for n, s in child["states"].items() if "history" in s.get("kind", "")}
            if histories:
                row["history"] = {n: {"type": kind.split()[0]} for n, kind in histories.items()}
        moves: dict[str, list[Any]] = {}
        for event, target, guard, action, n in child.get("on", ()):
            moves.setdefault(event, []).append({"target": target, "cond": code(guard, n), "on": code(action, n)})
        if moves:
            row["on"] = moves
        found[name] = row
    return found


def _counting(entered: Callable[..., Any]) -> Callable[[], None]:
    def enter() -> None:
        entered()

    return enter
