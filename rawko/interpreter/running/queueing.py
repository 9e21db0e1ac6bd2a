"""Queues events from callers, from sismic's tools and from actors. Nothing is executed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sismic.model import Event as SismicEvent
from sismic.model import InternalEvent as SismicInternalEvent
from sismic.model import MetaEvent

from rawko.interpreter.data.events import Event, InternalEvent, invocation_event, make_event
from rawko.interpreter.data.freezing import exact_text, freeze_fields
from rawko.interpreter.errors import NotJsonError
from rawko.interpreter.stepping.event_queue import Timer
from rawko.interpreter.stepping.machine import Machine


def payload(machine: Machine, name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """A payload as the machine stores it: frozen JSON; with trusted code, which takes any value, a plain copy.

    Raises:
        NotJsonError: A part of it is not JSON.
    """
    if not data or machine.holds_any_value:
        return dict(data)
    return freeze_fields(data, name)


def queue_all(machine: Machine, items: Iterable[str | SismicEvent], parameters: Mapping[str, Any]) -> None:
    """Queue events in order. `parameters` are the payload of the items that are names.

    Raises:
        NotJsonError: A payload is not JSON; the events after it are not queued.
    """
    for item in items:
        if isinstance(item, str):
            name = exact_text(item, "event")
            _queue_delayed(machine, name, payload(machine, name, parameters), parameters.get("delay", 0))
        else:
            _queue_event(machine, item)


def _queue_event(machine: Machine, event: SismicEvent) -> None:
    # Listeners queue meta-events for property statecharts; these carry events, which are not JSON.
    if not isinstance(event, SismicEvent):
        raise NotJsonError("event", event, "a text, or an Event")
    name = exact_text(event.name, "event")
    data = event.data if isinstance(event, MetaEvent) else payload(machine, name, event.data)
    if isinstance(event, SismicInternalEvent):
        machine.push_internal(make_event(name, data, InternalEvent))
    elif isinstance(event, Event):
        event.name = name
        event.data = dict(data)
        machine.push(event)
    else:
        _queue_delayed(machine, name, data, event.data.get("delay", 0))


def _queue_delayed(machine: Machine, name: str, data: Mapping[str, Any], delay: Any) -> None:
    if isinstance(delay, (int, float)) and delay > 0:
        machine.seq += 1
        due = machine.now + delay
        machine.agenda.set(Timer(due, machine.seq, f"send.{machine.seq}", name, data, delay=delay))
    else:
        machine.push(make_event(name, data))


def push_from_actor(
    machine: Machine, id: str, number: int, name: str, data: Mapping[str, Any], *, is_end: bool, was_running: bool
) -> bool:
    """Queue an event from an actor. False if its invocation has ended, and the event is dropped.

    Args:
        was_running: The invocation was running when the event was sent, so queue it even if it has ended since.
    """
    invocation = machine.invocations.get(id)
    is_running = invocation is not None and invocation.number == number
    if machine.is_done or not (is_running or was_running):
        return False
    machine.push(invocation_event(name, freeze_fields(data, name), id, number, is_end=is_end))
    return True
