"""Failures of actors, and of messages to them, as the data of the events that report them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rawko.chart.definition import Chart
from rawko.interpreter.compiled.structure import descriptor_matches
from rawko.interpreter.data.events import ENVELOPE
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import Record
from rawko.interpreter.errors import BindingError, InvocationError, NotJsonError
from rawko.runtime.actor_kinds import ActorFailed
from rawko.runtime.errors import ActorCrashed

UNDELIVERED: Final = "error.communication"
"""The event that reports an undeliverable message to its sender, if the sender's chart handles it."""


def hears_undelivered(chart: Chart) -> bool:
    """Whether a chart handles `error.communication`."""
    return any(descriptor_matches(event, UNDELIVERED) for t in chart.transitions for event in t.events)


def undelivered_data(chart: Chart, to: str, event: str, data: Mapping[str, Any], reason: str) -> Mapping[str, Any]:
    """The payload of `error.communication`, frozen; in SCXML with the id of the send."""
    return _undelivered(chart, data, {"to": to, "event": event, "message": reason})


def refused_data(chart: Chart, to: str, event: str, data: Mapping[str, Any], reason: str) -> Mapping[str, Any]:
    """The same for a message that a full inbox has refused, with its `data`: it tells which of several it was."""
    return _undelivered(chart, data, {"to": to, "event": event, "message": reason, "data": plain_data(data)})


def plain_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a message, without what SCXML adds to it."""
    return {name: value for name, value in data.items() if name != ENVELOPE}


def _undelivered(chart: Chart, data: Mapping[str, Any], told: dict[str, Any]) -> Mapping[str, Any]:
    if chart.errors == "scxml" and (sendid := data.get(ENVELOPE, {}).get("sendid")) is not None:
        told[ENVELOPE] = {"sendid": sendid}
    found: Mapping[str, Any] = freeze(told)
    return found


def failure_of(error: BaseException) -> Mapping[str, Any]:
    """An actor's exception as the data of `error.invoke.<id>`."""
    match error:
        case ActorFailed():
            try:
                found: Mapping[str, Any] = freeze(error.error, "error")
            except NotJsonError as refused:
                return _failure("validation_error", str(refused))
            return found
        case ActorCrashed(error=InvocationError(error=Mapping() as inner)):
            return inner  # the failure of a child machine keeps its category and code
        case NotJsonError() | BindingError():
            return _failure("validation_error", str(error))
        case TimeoutError():
            return _failure("timeout", f"{type(error).__name__}: {error}")
        case _:
            return _failure("unknown", f"{type(error).__name__}: {error}")


def _failure(category: str, message: str) -> Record:
    return Record({"category": category, "message": message, "attempted": ""})
