"""The machine: statecharts interpreted by SCXML's algorithm on prepared plans, without I/O."""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.effects import Effect, EmitEvent, LogLine, SendTo, StartInvocation, StopInvocation
from rawko.interpreter.data.events import Event, InternalEvent
from rawko.interpreter.data.steps import MicroStep, Receipt, Step
from rawko.interpreter.data.updates import (
    Updates,
    append,
    assign,
    cancel,
    emit,
    log,
    raise_,
    send,
    spawn,
    stop,
)
from rawko.interpreter.data.values import Record, Vector, freeze, thaw
from rawko.interpreter.errors import (
    ActionError,
    BindingError,
    ContextError,
    ContractFailed,
    EventlessCycleError,
    InterpreterError,
    InvocationError,
    LoopStep,
    MacrostepLimitError,
    NotJsonError,
    NotRunningError,
    SnapshotError,
    UntrustedCodeError,
)
from rawko.interpreter.running.explain import Refusal
from rawko.interpreter.running.interpreter import Interpreter

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
    "raise_",
    "send",
    "spawn",
    "stop",
    "thaw",
]
