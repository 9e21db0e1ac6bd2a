"""Events: a payload of any field names, read by attribute and by key, copied and pickled."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from rawko.interpreter import Event, InternalEvent
from rawko.interpreter.data.events import InvocationEvent, invocation_event, make_event

PAYLOAD = {
    "n": 1,
    "name": 2,
    "data": 3,
    "at_ms": 4,
    "id": 5,
    "items": 6,
    "__getstate__": 7,
    "__setstate__": 8,
    "__reduce__": 9,
    "__reduce_ex__": 10,
    "__class__": 11,
}
EVENTS: dict[str, Callable[[], Event]] = {
    "external": lambda: make_event("E", PAYLOAD),
    "internal": lambda: make_event("E", PAYLOAD, InternalEvent),
    "invocation": lambda: invocation_event("E", dict(PAYLOAD), "i", 1, is_end=True),
}


@pytest.mark.parametrize("make", EVENTS.values(), ids=EVENTS)
def test_fields_are_attributes_but_where_the_class_has_the_name(make: Callable[[], Event]) -> None:
    event: Any = make()
    assert (event.name, event.data, event.at_ms, event.n, event.items) == ("E", PAYLOAD, 0, 1, 6)
    assert event.id == ("i" if isinstance(event, InvocationEvent) else 5)
    assert [event.data[name] for name in ("name", "data", "at_ms", "id")] == [2, 3, 4, 5]
    with pytest.raises(AttributeError, match="event 'E' has no field 'm'; fields: 'n', 'name', 'data'"):
        _ = event.m


@pytest.mark.parametrize("make", EVENTS.values(), ids=EVENTS)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda event: pickle.loads(pickle.dumps(event))])
def test_a_copy_is_equal_whatever_fields_are_called(make: Callable[[], Event], way: Callable[[Any], Any]) -> None:
    event = make()
    event.at_ms = 17
    again = way(event)
    assert type(again) is type(event)
    assert (again, again.name, again.data, again.at_ms) == (event, "E", PAYLOAD, 17)
    if isinstance(event, InvocationEvent):
        assert (again.id, again.number, again.is_end) == ("i", 1, True)


def test_a_payload_is_an_events_own() -> None:
    given = {"n": 1}
    event = make_event("E", given)
    event.data["n"] = 2
    assert (given, event.data, event.n) == ({"n": 1}, {"n": 2}, 2)
