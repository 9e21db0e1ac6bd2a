"""Checks a machine's context against its model: validates the input, overlays defaults, checks every assignment.

The model is a pydantic class that the chart names under `context:`; pydantic is imported only for charts with a model.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from math import isfinite
from types import UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin
from weakref import WeakKeyDictionary

from rawko.interpreter.data.freezing import (
    MAX_DEPTH,
    TOO_LONG,
    TOO_LOW,
    freeze,
    freeze_item,
    freeze_own_fields,
)
from rawko.interpreter.data.values import (
    Record,
    Vector,
    checked_by,
    fields_of,
    record_of,
    thaw,
    was_checked_by,
)
from rawko.interpreter.errors import ContextError, NotJsonError, shown

_PLAIN = frozenset({str, bool, type(None)})
_HARMLESS = frozenset({str, bool, type(None), int})
_TEXTS = frozenset({str})
_MANY = (list, tuple, set, frozenset)

Gate: TypeAlias = Callable[[Any], Any]
"""Returns a value for a field checked and frozen; raises ContextError or NotJsonError."""


class ContextModel:
    """Checks values of context fields; one per model class.

    Attributes:
        names: The model's fields; None for a context without a model, which takes any field.

    Source: C-26, C-27.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._fields: Mapping[str, Any] = model.model_fields
        self.names: frozenset[str] | None = frozenset(self._fields)
        self._gates: dict[str, Gate] = {}
        self._item_gates: dict[str, Gate] = {}

    def initial(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The first context: defaults overlaid by the input; None means default (C-27).

        Raises:
            ContextError: An unknown key, or a value that the model refuses.
        """
        for name in given:
            self._require(name)
        values = {name: thaw(value) for name, value in given.items() if value is not None}
        try:
            model = self._model.model_validate(values)
            dumped = model.model_dump(mode="json")
            lost = non_finite(model.model_dump()) if has_none(dumped) else None
        except ValueError as error:
            raise ContextError(f"input against {self._model.__name__}: {_first_line(error)}") from error
        if lost is not None:
            raise NotJsonError("input", lost, "a finite number")
        frozen: dict[str, Any] = {name: freeze(value, name) for name, value in dumped.items()}
        return frozen

    def field(self, name: str, value: Any) -> Any:
        """A value for a field, checked and frozen.

        Raises:
            ContextError: The model has no such field, or refuses the value.
        """
        gate = self._gates.get(name)
        if gate is None:
            self._require(name)
            gate = self._gates[name] = self._gate(name, self._annotation(name))
        return gate(value)

    def item(self, name: str, value: Any) -> Any:
        """A new item of a list field, checked and frozen; the rest of the list is not checked again."""
        gate = self._item_gates.get(name)
        if gate is None:
            self._require(name)
            gate = self._item_gates[name] = self._gate(name, _item_type(self._fields[name].annotation))
        return gate(value)

    def _require(self, name: str) -> None:
        if name not in self._fields:
            near = difflib.get_close_matches(name, list(self._fields), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            fields = ", ".join(repr(field) for field in self._fields)
            raise ContextError(f"context has no field {name!r}{hint} fields: {fields}", field=name)

    def _annotation(self, name: str) -> Any:
        from typing import Annotated

        info = self._fields[name]
        return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation

    def _gate(self, name: str, annotation: Any) -> Gate:
        from pydantic import TypeAdapter

        adapter = TypeAdapter(annotation)
        validate, dump = adapter.validator.validate_python, adapter.serializer.to_python

        def check(value: Any) -> Any:
            kind = type(value)
            try:
                taken = validate(value if kind in _PLAIN or kind is int else thaw(value))
                kind = type(taken)
                if kind in _PLAIN or (kind is int and TOO_LOW < taken < TOO_LONG):  # these values equal their JSON form
                    return taken
                dumped = dump(taken, mode="json")
                lost = non_finite(dump(taken)) if has_none(dumped) else None
            except RecursionError:
                raise NotJsonError(name, ..., f"at most {MAX_DEPTH} levels of nesting") from None
            except ValueError as error:
                raise ContextError(f"context field {name!r}: {_first_line(error)}", field=name) from error
            if lost is not None:  # pydantic would write it as null
                raise NotJsonError(name, lost, "a finite number")
            return freeze(dumped, name)

        if (model := _model_in(annotation)) is not None:
            return lambda value: value if was_checked_by(model, value) else check(value)
        if (model := _item_model_in(annotation)) is not None:
            return lambda value: _records(model, value, check)
        if annotation in (dict[str, Any], Mapping[str, Any]):
            return lambda value: _object(value, name, check)
        if annotation in (list[str], tuple[str, ...]):
            return lambda value: _texts(value, check)
        return check


def checked(model: Any, value: Any, where: str) -> Record:
    """Validate a value against a model, as a record that fields of this model accept without a second check.

    Args:
        model: A pydantic class whose fields are all JSON.
        value: Data; an instance of the model is validated too, since it may have been built without validation.

    Raises:
        pydantic.ValidationError: The model refuses the value.
        NotJsonError: The value is not JSON.
    """
    if type(value) is model or isinstance(value, model):  # class first: `isinstance` on a model class walks its bases
        value = type(value).__pydantic_serializer__.to_python(value, warnings=False)
    taken = model.__pydantic_validator__.validate_python(value)
    dumped = type(taken).__pydantic_serializer__.to_python(taken)  # built here, so the record may own it
    return checked_by(model, record_of(freeze_own_fields(dumped, where)))


def _model_in(annotation: Any) -> Any:
    """M where the annotation is M or `M | None`, M being a pydantic class."""
    if get_origin(annotation) in (Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        annotation = parts[0] if len(parts) == 1 else None
    return annotation if hasattr(annotation, "model_validate") else None


def _item_model_in(annotation: Any) -> Any:
    """M where the annotation is `list[M]`, M being a pydantic class."""
    return _model_in(get_args(annotation)[0]) if get_origin(annotation) is list else None


def _records(model: Any, value: Any, check: Gate) -> Any:
    """A vector of records; skips validation if `checked` has validated every item against the model."""
    if type(value) not in (list, Vector) or not all(was_checked_by(model, item) for item in value):
        return check(value)
    return value if type(value) is Vector else Vector(list(value))


def _object(value: Any, name: str, check: Gate) -> Any:
    """A JSON object with any content; frozen values and values that freeze need no pydantic validation."""
    if type(value) is Record:
        return value
    if type(value) is dict:
        try:
            return freeze(value, name)
        except NotJsonError:  # pydantic accepts more kinds of values, and reports what is wrong with the others
            pass
    return check(value)


def _texts(value: Any, check: Gate) -> Any:
    """A vector of texts; checks the classes of the items and copies none of them."""
    if type(value) in (list, tuple, Vector) and _TEXTS.issuperset(map(type, value)):
        return value if type(value) is Vector else Vector(list(value))
    return check(value)


def _item_type(annotation: Any) -> Any:
    """The item type of list[X], tuple[X, ...], or of one of these in a union."""
    if get_origin(annotation) in (list, tuple):
        arguments = get_args(annotation)
        return arguments[0] if arguments else Any
    for part in get_args(annotation):
        if get_origin(part) in (list, tuple):
            return _item_type(part)
    return Any


def has_none(dumped: Any) -> bool:
    """Whether data from pydantic's JSON dump contains a null at any depth."""
    if dumped is None:
        return True
    if not isinstance(dumped, (dict, list)):
        return False
    parts = dumped.values() if isinstance(dumped, dict) else dumped
    if None in parts:
        return True
    return any(has_none(part) for part in parts if type(part) not in _PLAIN)


def non_finite(value: Any) -> float | None:
    """The first NaN or infinity in Python data, which JSON cannot write; None if there is none."""
    if isinstance(value, float):
        return None if isfinite(value) else value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, _MANY) else ()
    for part in parts:
        kind = type(part)
        if kind not in _HARMLESS and (found := non_finite(part)) is not None:
            return found
    return None


def _first_line(error: ValueError) -> str:
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    first = errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place + ': ' if place else ''}{first['msg']}, found {shown(first['input'])}"


_MODELS: WeakKeyDictionary[Any, ContextModel] = WeakKeyDictionary()


def context_model(model: Any) -> ContextModel:
    """The checker of a model class, made once."""
    found = _MODELS.get(model)
    if found is None:
        found = _MODELS[model] = ContextModel(model)
    return found


class FreeContext:
    """The context of a chart without a model: any field, any JSON value."""

    names: Final[frozenset[str] | None] = None

    @staticmethod
    def initial(given: Mapping[str, Any]) -> dict[str, Any]:
        """The input itself, which is frozen already."""
        return {**fields_of(given)}

    @staticmethod
    def field(name: str, value: Any) -> Any:
        return freeze(value, name)

    @staticmethod
    def item(name: str, value: Any) -> Any:
        return freeze_item(value, name)


FREE = FreeContext()
