"""Failures as events: with `errors: scxml` a failure does not end the macrostep but raises `error.execution`."""

from __future__ import annotations

from collections import deque
from typing import Any

from rawko.interpreter.compiled.contracts import condition_text
from rawko.interpreter.data.effects import LogLine
from rawko.interpreter.data.events import ENVELOPE, Event, InternalEvent, make_event
from rawko.interpreter.data.failures import Failed
from rawko.interpreter.data.values import Record
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.transaction import Transaction


def error_data(failure: Failed, event: Event | None) -> dict[str, Any]:
    """The payload of `error.execution`."""
    return {
        "kind": failure.kind,
        "where": failure.where,
        "function": failure.function,
        "message": failure.message,
        "event": None if event is None else Record({"name": event.name, "data": Record(dict(event.data))}),
    }


def raise_error(machine: Machine, failed: Failed) -> None:
    """Queue the event of a failure after the events that were raised before it."""
    cause = failed.cause
    data = error_data(failed, machine.event)
    name = getattr(cause, "error_event", "error.execution")
    if (sendid := getattr(cause, "sendid", None)) is not None:
        data[ENVELOPE] = Record({"sendid": sendid})
    event = make_event(name, data, InternalEvent)
    assert isinstance(event, InternalEvent)
    work = machine.work or machine.begin()
    work.raised.append(event)
    work.sent.append(event)
    # If the chart does not handle the event, the log is the only trace of the failure.
    message = f"{name}: {failed.kind} {failed.function!r} of {failed.where}: {failed.message}"
    work.effects.append(LogLine(message, "warning", Record({"position": str(failed.position)})))


def fail_or_raise(machine: Machine, failed: Failed, cause: BaseException) -> None:
    """Raise the event of a failure, if the chart has `errors: scxml`.

    Raises:
        Failed: The chart does not have it.
    """
    if not machine.program.bound.errors_are_events:
        raise failed from cause
    raise_error(machine, failed)


def flush_raised(machine: Machine, work: Transaction) -> None:
    """Move the events that were raised so far to the internal queue."""
    if work.raised:
        if machine.internal is None:
            machine.internal = deque()
        machine.internal.extend(work.raised)
        work.raised = []


def guard_failed(machine: Machine, index: int, error: Exception) -> Failed:
    """The failure of a transition's guard."""
    transition = machine.program.structure.transitions[index]
    assert transition.guard is not None
    position = getattr(transition.guard, "position", transition.position)
    where = f"transition {transition.source} -> {', '.join(transition.targets) or '(no target)'}"
    return Failed("guard", where, condition_text(transition.guard), position, error)
