"""The machine: statecharts interpreted by SCXML's algorithm on prepared plans, without I/O.

The public names load on first use, so that importing a kind of data does not import the interpreter.
"""

from __future__ import annotations

from rawko.lazy_names import lazy_names

TYPE_CHECKING = False  # of `typing`, which costs an import

if TYPE_CHECKING:
    from rawko.interpreter.bindings import Bindings as Bindings
    from rawko.interpreter.data.effects import Effect as Effect
    from rawko.interpreter.data.effects import EmitEvent as EmitEvent
    from rawko.interpreter.data.effects import LogLine as LogLine
    from rawko.interpreter.data.effects import SendTo as SendTo
    from rawko.interpreter.data.effects import StartInvocation as StartInvocation
    from rawko.interpreter.data.effects import StopInvocation as StopInvocation
    from rawko.interpreter.data.events import Event as Event
    from rawko.interpreter.data.events import InternalEvent as InternalEvent
    from rawko.interpreter.data.freezing import freeze as freeze
    from rawko.interpreter.data.steps import MicroStep as MicroStep
    from rawko.interpreter.data.steps import Receipt as Receipt
    from rawko.interpreter.data.steps import Step as Step
    from rawko.interpreter.data.updates import Updates as Updates
    from rawko.interpreter.data.updates import append as append
    from rawko.interpreter.data.updates import assign as assign
    from rawko.interpreter.data.updates import cancel as cancel
    from rawko.interpreter.data.updates import emit as emit
    from rawko.interpreter.data.updates import log as log
    from rawko.interpreter.data.updates import raise_ as raise_
    from rawko.interpreter.data.updates import send as send
    from rawko.interpreter.data.updates import spawn as spawn
    from rawko.interpreter.data.updates import stop as stop
    from rawko.interpreter.data.values import Record as Record
    from rawko.interpreter.data.values import Vector as Vector
    from rawko.interpreter.data.values import thaw as thaw
    from rawko.interpreter.errors import ActionError as ActionError
    from rawko.interpreter.errors import BindingError as BindingError
    from rawko.interpreter.errors import ContextError as ContextError
    from rawko.interpreter.errors import ContractFailed as ContractFailed
    from rawko.interpreter.errors import EventlessCycleError as EventlessCycleError
    from rawko.interpreter.errors import InterpreterError as InterpreterError
    from rawko.interpreter.errors import InvocationError as InvocationError
    from rawko.interpreter.errors import LoopStep as LoopStep
    from rawko.interpreter.errors import MacrostepLimitError as MacrostepLimitError
    from rawko.interpreter.errors import MigrationError as MigrationError
    from rawko.interpreter.errors import NotJsonError as NotJsonError
    from rawko.interpreter.errors import NotRunningError as NotRunningError
    from rawko.interpreter.errors import SnapshotError as SnapshotError
    from rawko.interpreter.errors import UntrustedCodeError as UntrustedCodeError
    from rawko.interpreter.migrating.migrate import Migrated as Migrated
    from rawko.interpreter.migrating.migrate import migrate as migrate
    from rawko.interpreter.running.explain import Refusal as Refusal
    from rawko.interpreter.running.interpreter import Interpreter as Interpreter

__all__ = [
    "ActionError",
    "BindingError",
    "Bindings",
    "ContextError",
    "ContractFailed",
    "Effect",
    "EmitEvent",
    "Event",
    "EventlessCycleError",
    "InternalEvent",
    "Interpreter",
    "InterpreterError",
    "InvocationError",
    "LogLine",
    "LoopStep",
    "MacrostepLimitError",
    "MicroStep",
    "Migrated",
    "MigrationError",
    "NotJsonError",
    "NotRunningError",
    "Receipt",
    "Record",
    "Refusal",
    "SendTo",
    "SnapshotError",
    "StartInvocation",
    "Step",
    "StopInvocation",
    "UntrustedCodeError",
    "Updates",
    "Vector",
    "append",
    "assign",
    "cancel",
    "emit",
    "freeze",
    "log",
    "migrate",
    "raise_",
    "send",
    "spawn",
    "stop",
    "thaw",
]

__getattr__ = lazy_names(
    __name__,
    {
        "rawko.interpreter.bindings": ("Bindings",),
        "rawko.interpreter.data.effects": (
            "Effect",
            "EmitEvent",
            "LogLine",
            "SendTo",
            "StartInvocation",
            "StopInvocation",
        ),
        "rawko.interpreter.data.events": (
            "Event",
            "InternalEvent",
        ),
        "rawko.interpreter.data.steps": (
            "MicroStep",
            "Receipt",
            "Step",
        ),
        "rawko.interpreter.data.updates": (
            "Updates",
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
        "rawko.interpreter.data.freezing": ("freeze",),
        "rawko.interpreter.data.values": ("Record", "Vector", "thaw"),
        "rawko.interpreter.errors": (
            "ActionError",
            "BindingError",
            "ContextError",
            "ContractFailed",
            "EventlessCycleError",
            "InterpreterError",
            "InvocationError",
            "LoopStep",
            "MacrostepLimitError",
            "MigrationError",
            "NotJsonError",
            "NotRunningError",
            "SnapshotError",
            "UntrustedCodeError",
        ),
        "rawko.interpreter.migrating.migrate": ("Migrated", "migrate"),
        "rawko.interpreter.running.explain": ("Refusal",),
        "rawko.interpreter.running.interpreter": ("Interpreter",),
    },
)
