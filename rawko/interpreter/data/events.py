"""Events: sismic's class, with the time at which the machine consumed the event.

Payload fields are read as attributes (`event.output`); fields named like the class's own attributes (`name`, `data`,
`at_ms`) are read by key: `event.data["name"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sismic.model import Event as SismicEvent
from sismic.model import InternalEvent as SismicInternalEvent

from rawko.interpreter.data.freezing import exact_text
from rawko.interpreter.data.values import Method

INIT = "rawko.init"
"""Name of the event that guards and actions see while the machine enters its first configuration."""

ENVELOPE = "_scxml"
"""Payload field for what an SCXML event has beside its data: sendid, origin, or data that is no object."""


class Event(SismicEvent):
    """Something that happened.

    Attributes:
        name: `UPPER_SNAKE` for a machine's own events; `done.state.x`, `done.invoke.x`, `error.invoke.x`,
            `error.execution` and `after.x.0` come from the interpreter.
        data: The payload.
        at_ms: Epoch milliseconds of the interpreter's clock in the macrostep that consumes the event: the only
            time that guards and actions see. 0 until it is consumed.
    """

    # The payload is the instance's own dictionary: `event.field` is Python's ordinary look-up, which takes a third of
    # the time of `__getattr__`. Methods that pickling needs are protected below from fields of the same name.
    __slots__ = ("__dict__", "at_ms")
    at_ms: int
    data: dict[str, Any]

    def __init__(self, name: str, /, **data: Any) -> None:
        self.name = name
        self.data = data
        self.at_ms = 0

    def __getattr__(self, attribute: str) -> Any:
        try:
            return self.data[attribute]
        except KeyError:
            raise AttributeError(
                f"event {self.name!r} has no field {attribute!r}; fields: {', '.join(map(repr, self.data)) or 'none'}"
            ) from None

    def __getstate__(self) -> tuple[Any, ...]:
        return self.name, self.data, self.at_ms

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.name, self.data, self.at_ms = state


Event.data = Event.__dict__["__dict__"]  # the same dictionary by another name


class InternalEvent(Event, SismicInternalEvent):
    """An event that the machine raised itself; consumed before external events."""

    __slots__ = ()


class InvocationEvent(Event):
    """An event from an invoked actor; dropped if its invocation has ended by the time that it is consumed.

    Attributes:
        id, number: Of the invocation.
        is_end: The actor ends with this event (`done.invoke.<id>`, `error.invoke.<id>`).
    """

    __slots__ = ("id", "is_end", "number")
    id: str
    number: int
    is_end: bool

    def __getstate__(self) -> tuple[Any, ...]:
        return self.name, self.data, self.at_ms, self.id, self.number, self.is_end

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.name, self.data, self.at_ms, self.id, self.number, self.is_end = state


def make_event(name: str, data: Mapping[str, Any], kind: type[Event] = Event) -> Event:
    """An event with any payload, also with payload fields called `name` or `data`.

    Raises:
        NotJsonError: The name is not a string.
    """
    event = kind.__new__(kind)
    event.name = name if name.__class__ is str else exact_text(name, "event")
    event.data = dict(data)
    event.at_ms = 0
    return event


def invocation_event(name: str, data: dict[str, Any], id: str, number: int, *, is_end: bool) -> InvocationEvent:
    """An event from an actor; `data` becomes the payload without a copy, so the caller must not use it again."""
    event = InvocationEvent.__new__(InvocationEvent)
    event.name = name
    event.data = data
    event.at_ms = 0
    event.id = id
    event.number = number
    event.is_end = is_end
    return event


def _protect(kind: type[Event]) -> None:
    """Let pickling find the class's methods although a payload field may have the same name."""
    for name in ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__"):
        setattr(kind, name, Method(getattr(kind, name)))


for _kind in (Event, InvocationEvent):
    _protect(_kind)
