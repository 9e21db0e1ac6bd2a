"""transitions: `Machine` where the chart is flat, `HierarchicalMachine` where it is not; no automatic transitions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tests.bench.cases import Case
from tests.bench.charts import State
from tests.bench.coded import CodedModel
from tests.bench.contenders.base import Missing, Play, PythonContender, Unsupported


class Model:
    """What carries the state and the code."""

    state: Any
    trigger: Callable[..., Any]

    def __init__(self) -> None:
        self.n = 0

    def is_counting(self) -> bool:
        return self.n >= 0

    def up(self) -> None:
        self.n += 1


def _is_below(limit: int) -> bool:
    return limit > 0


def _up(by: int) -> None: ...


class Transitions(PythonContender):
    name = "transitions"

    def version(self) -> str:
        try:
            return version("transitions")
        except PackageNotFoundError:
            raise Missing("not installed") from None

    def definition(self, chart: State, entered: Callable[..., Any] | None = None) -> Any:
        """A machine without models, that takes any number of them."""
        is_flat = not any(child.get("states") for child in chart["states"].values())
        library = importlib.import_module("transitions" if is_flat else "transitions.extensions")
        make = library.Machine if is_flat else library.HierarchicalMachine
        states = _states(chart, entered)
        initial = chart.get("initial")
        if chart.get("kind") == "parallel":
            states, initial = [{"name": "root", "parallel": states}], "root"
        paths: dict[str, str] = {}
        _find_paths(chart, "root_" if chart.get("kind") == "parallel" else "", paths)
        machine = make(
            None,
            states=states,
            transitions=[
                {
                    "trigger": event,
                    "source": paths[name],
                    "dest": paths[target],
                    "conditions": guard if n is None else partial(_is_below, n),
                    "after": action if n is None else partial(_up, n),
                }
                for name, state in _all(chart)
                for event, target, guard, action, n in state.get("on", ())
            ],
            initial=initial,
            auto_transitions=False,
            send_event=False,
        )
        return machine, initial, CodedModel if chart.get("is_coded") else Model

    def machine(self, definition: Any) -> Any:
        machine, initial, make = definition
        model = make()
        machine.add_model(model, initial=initial)
        return machine, model

    def sender(self, machine: Any) -> Callable[..., Any]:
        trigger: Callable[..., Any] = machine[1].trigger
        return trigger

    def active(self, machine: Any) -> list[str]:
        state = machine[1].state
        return [name.rsplit("_", 1)[-1] if "#" in name else _last(name) for name in _flattened(state)]

    def play_create(self, case: Case) -> Play:
        return self._discarding(case)

    def play_life(self, case: Case) -> Play:
        return self._discarding(case)

    def _discarding(self, case: Case) -> Play:
        """A machine keeps its models until they are removed."""
        definition = self.definition(case.chart)
        machine, events = definition[0], case.events

        def play() -> None:
            _, model = self.machine(definition)
            for event in events:
                model.trigger(event)
            machine.remove_model(model)

        return play

    def play_load(self, case: Case) -> Play:
        return lambda: self.definition(case.chart)


def _states(chart: State, entered: Callable[..., Any] | None) -> list[Any]:
    found: list[Any] = []
    for name, state in chart["states"].items():
        kind = state.get("kind", "")
        if "history" in kind:
            raise Unsupported("no history states")
        row: dict[str, Any] = {"name": _escaped(name), "final": kind == "final"}
        if entered is not None:
            row["on_enter"] = entered
        if state.get("states"):
            row["children"] = _states(state, entered)
            if kind == "parallel":
                raise Unsupported("only the root is parallel here")
            row["initial"] = _escaped(state["initial"])
        found.append(row)
    return found


def _escaped(name: str) -> str:
    """`_` separates levels there."""
    return name.replace("_", "-")


def _last(name: str) -> str:
    return name.rsplit("_", 1)[-1].replace("-", "_")


def _find_paths(chart: State, prefix: str, found: dict[str, str]) -> None:
    for name, state in chart["states"].items():
        found[name] = prefix + _escaped(name)
        if state.get("states"):
            _find_paths(state, f"{found[name]}_", found)


def _all(chart: State) -> list[tuple[str, State]]:
    found: list[tuple[str, State]] = []
    for name, state in chart["states"].items():
        found.append((name, state))
        if state.get("states"):
            found += _all(state)
    return found


def _flattened(state: Any) -> list[str]:
    if isinstance(state, str):
        return [state]
    return [name for part in state for name in _flattened(part)]
