"""How events come into the queues of a machine: from callers, from sismic's tools, from actors. Nothing is executed."""

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
    """A payload as the machine keeps it: frozen JSON, but for trusted code, which takes any value.

    Raises:
        NotJsonError: Something in it is not JSON.
    """
    if not data or machine.holds_any_value:
        return dict(data)
    return freeze_fields(data, name)


def queue_all(machine: Machine, items: Iterable[str | SismicEvent], parameters: Mapping[str, Any]) -> None:
    """Queue events in their order. `parameters` are the payload of those that are names.

    Raises:
        NotJsonError: A payload that is not JSON; nothing more is queued.
    """
    for item in items:
        if isinstance(item, str):
            name = exact_text(item, "event")
            _queue_delayed(machine, name, payload(machine, name, parameters), parameters.get("delay", 0))
        else:
            _queue_event(machine, item)


def _queue_event(machine: Machine, event: SismicEvent) -> None:
    # Meta-events carry events and are queued by listeners, for property statecharts: no JSON, and theirs.
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
    """Queue an event from an actor. False if its invocation is over, and the event is dropped.

    Args:
        was_running: It came while the invocation was running, and is to be heard though it is over now.
    """
    invocation = machine.invocations.get(id)
    is_running = invocation is not None and invocation.number == number
    if machine.is_done or not (is_running or was_running):
        return False
    machine.push(invocation_event(name, freeze_fields(data, name), id, number, is_end=is_end))
    return True
