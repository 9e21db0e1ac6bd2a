"""Dotted references read data and nothing else, whatever a value is and wherever they stand."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from rawko.chart import parse_chart
from rawko.chart.definition import GuardCall, Reference
from rawko.chart.errors import ChartError
from rawko.interpreter import BindingError, Bindings, Event, Interpreter, assign
from rawko.interpreter.compiled.contracts import compile_condition
from rawko.interpreter.compiled.functions import bind_arguments, resolve
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import Record, thaw


class Model(BaseModel):
    """A model, with a property and a method that are no data."""

    city: str = "Bern"

    @property
    def secret(self) -> str:
        return "property"

    def method(self) -> str:
        return "method"


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    """A dataclass without a dictionary."""

    city: str = "Bern"

    @property
    def secret(self) -> str:
        return "property"


@dataclasses.dataclass
class Plain:
    """A dataclass with a dictionary, which holds more than is declared."""

    city: str = "Bern"

    def __post_init__(self) -> None:
        self.undeclared = "undeclared"


class Pair(NamedTuple):
    """A tuple with names."""

    x: int
    y: int


class Object:
    """An object whose attributes are not data."""

    city = "class attribute"

    def __init__(self) -> None:
        self.town = "instance attribute"


class Lazy(Mapping[str, Any]):
    """A mapping whose `get` does more than look."""

    def __getitem__(self, key: str) -> Any:
        return {"city": "Bern"}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(["city"])

    def __len__(self) -> int:
        return 1

    def __contains__(self, key: object) -> bool:
        return key == "city"

    def get(self, key: str, default: Any = None) -> Any:
        return "from get"


VALUES: dict[str, Any] = {
    "list": freeze([1, 2]),
    "record": freeze({"a": 1}),
    "plain_list": [1, 2],
    "plain_dict": {"a": 1},
    "text": "text",
    "number": 7,
    "fraction": 1.5,
    "truth": True,
    "moment": datetime(2026, 1, 1, tzinfo=UTC),
    "path": Path("x"),
    "module": os,
    "function": os.getenv,
    "method": "text".upper,
    "kind": Object,
    "model_kind": Model,
    "object": Object(),
    "model": Model(),
    "slotted": Slotted(),
    "plain": Plain(),
    "pair": Pair(1, 2),
    "error": ValueError("x"),
    "bytes": b"x",
    "set": {1},
    "lazy": Lazy(),
}


def look(path: str, context: Any) -> Any:
    return resolve(Reference("context", tuple(path.split("."))), context, Event("GO"))


@pytest.mark.parametrize("name", VALUES)
def test_no_attribute_of_a_value_is_ever_returned(name: str) -> None:
    value = VALUES[name]
    declared = {"city"} if name in ("model", "slotted", "plain") else set()
    data = set(value) if isinstance(value, Mapping) else declared
    context = Record({"value": value})
    for attribute in {*dir(value), *dir(type(value)), "town", "undeclared", "secret"} - data:
        assert look(f"value.{attribute}", context) is None, attribute
        for further in ("__class__", "__globals__", "environ", "name"):
            assert look(f"value.{attribute}.{further}", context) is None, attribute


@pytest.mark.parametrize("name", ["model", "slotted", "plain", "lazy"])
def test_declared_fields_are_data(name: str) -> None:
    assert look(f"{name}.city", Record(VALUES)) == "Bern"


def test_fields_with_the_names_of_methods_are_data() -> None:
    context = freeze({"plan": {"items": ["a"], "keys": 1, "get": {"values": 2}}})
    assert look("plan.items", context) == ["a"]
    assert look("plan.keys", context) == 1
    assert look("plan.get.values", context) == 2
    assert look("plan.values", context) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "items", "b"]), inner),
    max_leaves=8,
)
ATTRIBUTES = sorted({name for value in VALUES.values() for name in dir(value)} | {"a", "b"})


@example({"a": []}, ["a", "__class__", "__init__", "__globals__"])
@example({"a": ""}, ["a", "upper"])
@example({"a": 1}, ["a", "real"])
@given(st.dictionaries(st.sampled_from(["a", "items", "b"]), JSON), st.lists(st.sampled_from(ATTRIBUTES), max_size=5))
def test_a_reference_is_a_walk_over_json(data: dict[str, Any], path: list[str]) -> None:
    expected: Any = data
    for part in path:
        is_there = isinstance(expected, dict) and part in expected and not part.startswith("_")
        expected = expected[part] if is_there else None
    frozen = freeze(data)
    for context in (frozen, data):
        assert thaw(resolve(Reference("context", tuple(path)), context, Event("GO"))) == expected
    assert thaw(resolve(Reference("event", tuple(path)), frozen, Event("GO", **data))) == expected


@pytest.mark.parametrize(
    "path",
    ["context._x", "context.l.__class__", "event.a._b.c", "event.__init__.__globals__", "context.__dict__"],
)
@pytest.mark.parametrize(
    "place",
    [
        "transitions: [{{event: GO, guard: 'look(value={0})'}}]",
        "transitions: [{{event: GO, guard: 'not (look(value={0}) or look(value=1))'}}]",
        "transitions: [{{event: GO, action: 'note(value={0})'}}]",
        "on entry: ['note(value={0})']",
        "on exit: ['note( value = {0} , other=[1])']",
        "contract: [{{before: 'look(value={0})'}}]",
        "always: [{{guard: 'look(value={0})', target: s}}]",
        "after: {{1s: {{guard: 'look(value={0})', target: s}}}}",
        "invoke: {{src: work, on done: {{target: s, action: 'note(value={0})'}}}}",
    ],
)
def test_private_names_are_refused_at_load_with_their_place(path: str, place: str) -> None:
    text = f"statechart:\n  name: c\n  root state:\n    name: s\n    {place.format(path)}\n"
    with pytest.raises(ChartError) as caught:
        parse_chart(text, file="c.yaml")
    found = str(caught.value)
    line = text.splitlines()[4]
    assert caught.value.diagnostics[0].position.line == 5
    assert f"c.yaml:5:{line.index('_', line.index(path.split('.')[0] + '.')) + 1}: " in found
    assert "starts with '_'" in found


@pytest.mark.parametrize("reference", [Reference("context", ("l", "__class__")), Reference("event", ("_x",))])
def test_private_names_in_charts_made_in_python_are_refused_when_bound(reference: Reference) -> None:
    arguments = (("value", reference),)
    with pytest.raises(BindingError, match="do not start with '_'"):
        bind_arguments(lambda context, event, value: True, arguments, "guard", "look", GuardCall("look").position)
    bindings = Bindings()
    bindings.add("guard", "look", lambda context, event, value: True)
    with pytest.raises(BindingError, match="do not start with '_'"):
        compile_condition(GuardCall("look", arguments), bindings)


def test_a_machine_reaches_no_python_through_its_lists_and_texts() -> None:
    bindings = Bindings()

    @bindings.action
    def note(context: Any, event: Event, value: Any) -> Any:
        return assign(seen=value)

    for path in (
        "context.l.append",
        "context.t.format",
        "context.r.keys",
        "event.n.real",
        "event.l.appended",
        "event.t.title",
    ):
        chart = parse_chart(
            "statechart:\n  name: c\n  root state:\n    name: s\n"
            f"    transitions: [{{event: GO, action: 'note(value={path})'}}]\n",
            file="c.yaml",
        )
        machine = Interpreter(chart, bindings, input={"l": [1], "t": "x", "r": {}, "seen": "untouched"})
        machine.start()
        machine.send("GO", n=1, l=[1], t="x")
        assert machine.context.seen is None, path
