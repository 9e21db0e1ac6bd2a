"""Applies the updates that actions return: one small function per kind.

assign(n=2)            fields["n"] becomes 2; the old value goes to the undo record
append("log", "x")     fields["log"] becomes a vector with one more item
raise_("E")            staged: enters the internal queue at the end of the microstep
send("E", delay_ms=5)  staged: a timer, set at the commit
emit("E"), log("x")    an effect of the step
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from rawko.interpreter.data.context_model import FREE
from rawko.interpreter.data.effects import SendTo, emit_event, log_line
from rawko.interpreter.data.events import ENVELOPE, InternalEvent, make_event
from rawko.interpreter.data.freezing import (
    FROZEN,
    MAX_DEPTH,
    TOO_LONG,
    TOO_LOW,
    exact_text,
    freeze,
    freeze_fields,
)
from rawko.interpreter.data.updates import (
    Append,
    Assign,
    Cancel,
    Emit,
    Log,
    Raise,
    Send,
    Spawn,
    Stop,
    appended,
    assigned,
)
from rawko.interpreter.data.values import DEEP, Record, Vector, depth_of
from rawko.interpreter.errors import ContextError, NotJsonError, shown
from rawko.interpreter.stepping.event_queue import Timer
from rawko.interpreter.stepping.invocations import spawn, stop_invocation
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.transaction import MISSING, Transaction

_NAMES = frozenset({str, type(None)})


def apply_update(machine: Machine, work: Transaction, update: Any) -> None:
    """Apply what an action returned: one update, or a tuple or list of them, in order.

    Raises:
        TypeError: It is not an update.
        ContextError, NotJsonError, ValueError, InterpreterError: See the functions of the kinds.
    """
    apply = _APPLY.get(update.__class__)
    if apply is not None:
        apply(machine, work, update)
        return
    for kind, function in _APPLY.items():  # a subclass of an update
        if isinstance(update, kind) and kind not in (tuple, list):
            function(machine, work, update)
            return
    raise TypeError(
        f"returned {shown(update)} ({type(update).__name__}); accepted: None, an update such as assign(...) "
        "or send(...), or a tuple or list of updates"
    )


def _apply_all(machine: Machine, work: Transaction, updates: Any) -> None:
    for part in updates:
        if part is not None:
            apply_update(machine, work, part)


def assign_fields(machine: Machine, undo: list[tuple[str, Any]], update: Assign) -> Assign:
    """Set context fields, each checked and frozen; return the update with the frozen values.

    Raises:
        ContextError, NotJsonError: The context does not accept a value.
    """
    fields, model = machine.fields, machine.model
    is_free = model is FREE
    frozen: dict[str, Any] | None = None
    for name, value in update.fields.items():
        kind = value.__class__
        if not (is_free and (kind in FROZEN or (kind is int and TOO_LOW < value < TOO_LONG))):
            accepted = freeze(value, name) if is_free else model.field(name, value)
            if accepted is not value:
                frozen = frozen or dict(update.fields)
                frozen[name] = value = accepted
        undo.append((name, fields.get(name, MISSING)))
        fields[name] = value
    return update if frozen is None else assigned(frozen)


def assign(machine: Machine, work: Transaction, update: Assign) -> None:
    """Set context fields.

    Raises:
        ContextError, NotJsonError: As `assign_fields`.
    """
    work.updates.append(assign_fields(machine, work.undo, update))


def append_item(machine: Machine, undo: list[tuple[str, Any]], update: Append) -> Append:
    """Append an item to a list of the context; return the update with the frozen item.

    Raises:
        ContextError: The field is no list, or the model refuses the item.
        NotJsonError: The item is not JSON, or nested too deeply for an item of a list.
    """
    name, fields, model = update.field, machine.fields, machine.model
    old = fields.get(name)
    if not isinstance(old, Vector):
        raise ContextError(f"context field {name!r} is not a list: cannot append to {shown(old, 60)}", field=name)
    item = model.item(name, update.item)
    if model is not FREE and type(item) in DEEP and depth_of(item) >= MAX_DEPTH:
        raise NotJsonError(f"{name}[]", ..., f"at most {MAX_DEPTH} levels of nesting")
    undo.append((name, old))
    fields[name] = old.appended(item)
    return appended(name, item)


def _append(machine: Machine, work: Transaction, update: Append) -> None:
    work.updates.append(append_item(machine, work.undo, update))


def _emit(machine: Machine, work: Transaction, update: Emit) -> None:
    event = update.event if update.event.__class__ is str else exact_text(update.event, "emit")
    work.effects.append(emit_event(event, freeze(update.data, event)))


def _log(machine: Machine, work: Transaction, update: Log) -> None:
    message = update.message if update.message.__class__ is str else exact_text(update.message, "log")
    level = update.level if update.level.__class__ is str else exact_text(update.level, "log")
    work.effects.append(log_line(message, level, freeze(update.data, "log")))


def _raise(machine: Machine, work: Transaction, update: Raise) -> None:
    data = update.data
    if data and not machine.holds_any_value:
        data = freeze_fields(data, exact_text(update.event, "raise"))
    raised = make_event(update.event, data, InternalEvent)
    assert isinstance(raised, InternalEvent)
    work.raised.append(raised)
    work.sent.append(raised)


def _send(machine: Machine, work: Transaction, update: Send) -> None:
    if not 0 <= update.delay_ms < inf:
        raise ValueError(f"delay {shown(update.delay_ms)} is none; accepted: milliseconds >= 0, finite")
    if not (update.event.__class__ is str and update.to.__class__ in _NAMES and update.id.__class__ in _NAMES):
        update = Send(
            exact_text(update.event, "send"),
            update.data,
            None if update.to is None else exact_text(update.to, "send"),
            update.delay_ms,
            None if update.id is None else exact_text(update.id, "send"),
        )
    data = freeze(update.data, update.event)
    if update.id is not None and machine.observer is not None and machine.observer.has_data_model:
        data = Record({**data, ENVELOPE: Record({"sendid": update.id, **data.get(ENVELOPE, {})})})
    machine.seq += 1
    if update.delay_ms or (update.id is not None and update.to is None):
        delay = update.delay_ms / 1000
        id = f"send:{update.id}" if update.id is not None else f"send.{machine.seq}"
        due = machine.time + delay
        work.staged.append(Timer(due, machine.seq, id, update.event, data, target=update.to, delay=delay))
        work.sent.append(make_event(update.event, data))
    elif update.to is None:
        event = make_event(update.event, data)
        work.stage_event(machine.time, machine.seq, event)
        work.sent.append(event)
    else:
        work.effects.append(SendTo(update.to, update.event, data))
        work.sent.append(make_event(update.event, data))


def _cancel(machine: Machine, work: Transaction, update: Cancel) -> None:
    work.staged.append(f"send:{exact_text(update.id, 'cancel')}")


def _spawn(machine: Machine, work: Transaction, update: Spawn) -> None:
    id, src = exact_text(update.id, "spawn"), exact_text(update.src, "spawn")
    spawn(machine, work, id, src, freeze(update.input, "input"), update.on_restore)


def _stop(machine: Machine, work: Transaction, update: Stop) -> None:
    running = machine.invocations.get(exact_text(update.id, "stop"))
    if running is not None and running.state is None:
        stop_invocation(machine, work, running)


_APPLY: dict[type, Callable[[Machine, Transaction, Any], None]] = {
    Assign: assign,
    tuple: _apply_all,
    list: _apply_all,
    Append: _append,
    Log: _log,
    Emit: _emit,
    Raise: _raise,
    Send: _send,
    Cancel: _cancel,
    Spawn: _spawn,
    Stop: _stop,
}
