"""rawko: statecharts for agents. The public names load on first use, so that importing rawko costs nothing."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, whose import takes time

__version__ = "0.1.0"

if TYPE_CHECKING:
    from typing import Any

    from rawko.chart import Chart as Chart
    from rawko.chart import ChartError as ChartError
    from rawko.chart import load_chart as load_chart
    from rawko.chart import parse_chart as parse_chart
    from rawko.interpreter import ActionError as ActionError
    from rawko.interpreter import BindingError as BindingError
    from rawko.interpreter import Bindings as Bindings
    from rawko.interpreter import Event as Event
    from rawko.interpreter import EventlessCycleError as EventlessCycleError
    from rawko.interpreter import Interpreter as Interpreter
    from rawko.interpreter import InterpreterError as InterpreterError
    from rawko.interpreter import InvocationError as InvocationError
    from rawko.interpreter import MacrostepLimitError as MacrostepLimitError
    from rawko.interpreter import Receipt as Receipt
    from rawko.interpreter import SnapshotError as SnapshotError
    from rawko.interpreter import Step as Step
    from rawko.interpreter import append as append
    from rawko.interpreter import assign as assign
    from rawko.interpreter import cancel as cancel
    from rawko.interpreter import emit as emit
    from rawko.interpreter import log as log
    from rawko.interpreter import raise_ as raise_
    from rawko.interpreter import send as send
    from rawko.interpreter import spawn as spawn
    from rawko.interpreter import stop as stop
    from rawko.interpreter.clocks import SimulatedClock as SimulatedClock
    from rawko.interpreter.clocks import WallClock as WallClock
    from rawko.journal import SqlJournal as SqlJournal
    from rawko.runtime import Actor as Actor
    from rawko.runtime import ActorFailed as ActorFailed
    from rawko.runtime import ChildMachine as ChildMachine
    from rawko.runtime import Done as Done
    from rawko.runtime import child_machine as child_machine
    from rawko.runtime import immediate as immediate

_HOMES = {
    "rawko.chart": ("Chart", "ChartError", "load_chart", "parse_chart"),
    "rawko.interpreter": (
        "ActionError",
        "BindingError",
        "Bindings",
        "Event",
        "EventlessCycleError",
        "Interpreter",
        "InterpreterError",
        "InvocationError",
        "MacrostepLimitError",
        "Receipt",
        "SnapshotError",
        "Step",
        "append",
        "assign",
        "cancel",
        "emit",
        "log",
        "raise_",
        "send",
        "spawn",
        "stop",
    ),
    "rawko.interpreter.clocks": ("SimulatedClock", "WallClock"),
    "rawko.journal": ("SqlJournal",),
    "rawko.runtime": ("Actor", "ActorFailed", "ChildMachine", "Done", "child_machine", "immediate"),
}
_LAZY = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ActionError",
    "Actor",
    "ActorFailed",
    "BindingError",
    "Bindings",
    "Chart",
    "ChartError",
    "ChildMachine",
    "Done",
    "Event",
    "EventlessCycleError",
    "Interpreter",
    "InterpreterError",
    "InvocationError",
    "MacrostepLimitError",
    "Receipt",
    "SimulatedClock",
    "SnapshotError",
    "SqlJournal",
    "Step",
    "WallClock",
    "append",
    "assign",
    "cancel",
    "child_machine",
    "emit",
    "immediate",
    "load_chart",
    "log",
    "parse_chart",
    "raise_",
    "send",
    "spawn",
    "stop",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'rawko' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
