"""JSON values inside the machine: frozen, shared, read by key or attribute; lists grow by append without copying.

This module has the two containers, `Record` and `Vector`, and the functions that build them without a check: from
values that are frozen already, and from parsed text. Values of unknown origin go through `freeze`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MethodType
from typing import Any, overload


class Record(Mapping[str, Any]):
    """A frozen JSON object; `record.field` and `record["field"]` read the same.

    Methods of mappings (`keys`, `items`, `get` ...) hide fields of these names: read such fields by key.
    """

    # The fields are the instance's own dictionary: `record.field` is Python's ordinary look-up, which is seven times as
    # fast as `__getattr__`. Methods that the class itself needs are protected below from fields of the same name.
    __slots__ = ("__dict__", "_depth", "_model")  # for `_depth` and `_model` see `depth_of` and `checked_by`

    def __init__(self, fields: dict[str, Any]) -> None:
        set_fields(self, fields)

    @property
    def _fields(self) -> dict[str, Any]:
        return self.__dict__

    def __getitem__(self, key: str) -> Any:
        return self.__dict__[key]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no field {name!r}; fields: {', '.join(map(repr, self.__dict__))}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"read-only: return assign({name}=...) from an action instead")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("read-only: return assign(...) from an action instead")

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)

    def __contains__(self, key: object) -> bool:
        return key in self.__dict__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return self.__dict__ == other.__dict__
        if isinstance(other, Mapping):
            return self.__dict__ == other
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, (self.__dict__,)

    def __copy__(self) -> Record:
        return self

    def __deepcopy__(self, memo: object) -> Record:
        return self


_new = object.__new__
set_fields = Record.__dict__["__dict__"].__set__
"""Sets the dictionary of a new record; used instead of `record_of` where the call would cost too much."""


def fields_of(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields for reading at once: for a record its own dictionary, which Python copies fastest."""
    return data.__dict__ if type(data) is Record else data


_model_slot = Record.__dict__["_model"]
_depth_slot = Record.__dict__["_depth"]
del Record._model, Record._depth  # type: ignore[attr-defined]  # so that fields may have these names


class LiveRecord(Record):
    """A record whose fields change: the context of a machine. Copying it gives a frozen `Record`."""

    __slots__ = ()


def checked_by(model: type, record: Record) -> Record:
    """Mark a record as the JSON form of an instance of the model, so that fields of this model skip validation."""
    _model_slot.__set__(record, model)
    return record


def was_checked_by(model: type, value: Any) -> bool:
    """Whether `checked_by` marked the value for this model."""
    try:
        return type(value) is Record and _model_slot.__get__(value) is model
    except AttributeError:
        return False


def changed(record: Record, changes: Mapping[str, Any]) -> Record:
    """A copy of a record with some fields replaced, for reading only: the new values need not be frozen."""
    made = _new(Record)
    set_fields(made, {**record.__dict__, **changes})
    return made


class Method:
    """A method that a field of the same name does not hide."""

    __slots__ = ("_function",)

    def __init__(self, function: Any) -> None:
        self._function = function

    def __get__(self, record: Record | None, owner: type) -> Any:
        return self._function if record is None else MethodType(self._function, record)

    def __set__(self, record: Record, value: Any) -> None:
        raise AttributeError("read-only: return assign(...) from an action instead")


class _DictMethod(Method):
    """A method of the fields' dictionary, for reading."""

    __slots__ = ()

    def __get__(self, record: Record | None, owner: type) -> Any:
        if record is None:
            return self._function
        return getattr(record.__dict__, self._function.__name__)


for _name in ("keys", "items", "values", "get"):
    setattr(Record, _name, _DictMethod(getattr(Record, _name)))
for _name in ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__"):  # looked up on the object, not on its class
    setattr(Record, _name, Method(getattr(Record, _name)))
for _name in ("__copy__", "__deepcopy__"):
    setattr(LiveRecord, _name, Method(lambda record, memo=None: Record(dict(record.__dict__))))


class Vector(Sequence[Any]):
    """A frozen JSON array over a shared buffer: appending one item is O(1) and leaves older vectors as they were.

    A vector of parsed text (`parsed_value`) has no buffer until its first reading; until then `_parsed` is the parser's
    list.
    """

    __slots__ = ("_buffer", "_depth", "_hash", "_length", "_parsed")  # `_hash`: see `vector_hash` of `sameness`
    _buffer: list[Any]
    _parsed: list[Any]

    def __init__(self, buffer: list[Any], length: int | None = None) -> None:
        self._buffer = buffer
        self._length = len(buffer) if length is None else length
        self._depth = 0  # unknown: see `depth_of`

    def __getattr__(self, name: str) -> Any:
        """The buffer of a vector of parsed text, made at its first reading; other vectors have the attribute from the
        start.

        Safe if two threads read first at once: both put equal frozen values into the same places of the same list.
        """
        if name != "_buffer":
            raise AttributeError(f"a list has no attribute {name!r}")
        items = self._parsed
        for place, item in enumerate(items):
            if type(item) in _NESTING:
                items[place] = parsed_value(item)
        self._buffer = items
        self._depth = 0
        return items

    def appended(self, item: Any) -> Vector:
        """A vector with one more item at the end; the item must be frozen already."""
        buffer = self._buffer
        if len(buffer) != self._length:  # a longer vector shares the buffer: copy our part
            buffer = buffer[: self._length]
        buffer.append(item)
        grown: Vector = _new(Vector)  # as `vector_of` does, without the call
        grown._buffer = buffer
        grown._length = self._length + 1
        grown._depth = max(self._depth, 1 + depth_of(item)) if self._depth > 0 else 0
        return grown

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Vector: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            return Vector(self._buffer[start:stop:step] if step > 0 else self._buffer[: self._length][index])
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(f"index out of range: the vector has {self._length} items")
        return self._buffer[index]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        return islice(self._buffer, self._length)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Vector, list, tuple)):
            if self._length != len(other):
                return False
            return shares_items(self, other) or all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._buffer[: self._length])

    def __reduce__(self) -> tuple[Any, ...]:
        return Vector, (self._buffer[: self._length],)

    def __copy__(self) -> Vector:
        return self

    def __deepcopy__(self, memo: object) -> Vector:
        return self


hash_slot = Vector.__dict__["_hash"]
"""Slot for the hash of a vector; unset until the hash is first computed."""


def shares_items(vector: Vector, other: object) -> bool:
    """Whether the two vectors share one buffer, so that the shorter is a prefix of the longer. Takes constant time.

    False for vectors that were built independently, even if their items are equal.
    """
    return type(other) is Vector and vector._depth != _UNREAD != other._depth and vector._buffer is other._buffer


def items_after(vector: Vector, count: int) -> list[Any]:
    """All items after the first `count`."""
    return vector._buffer[count : vector._length]


_FLAT = frozenset({str, int, bool, type(None), float})
DEEP: frozenset[Any] = frozenset({Record, Vector})
"""Classes of frozen values that contain others, and so have a depth."""
_NESTING: frozenset[Any] = frozenset({dict, list})
_UNREAD = -1
"""The depth of a vector of parsed text that has not been read."""


def depth_of(value: Any) -> int:
    """Levels of lists and mappings in a frozen value: 0 for a scalar. Computed on the first request and cached."""
    kind = type(value)
    if kind is Vector:
        if value._depth < 1:
            items = value._buffer[: value._length]
            value._depth = 1 if _FLAT.issuperset(map(type, items)) else 1 + max(map(depth_of, items))
        found: int = value._depth
        return found
    if kind is not Record:
        return 0
    if _FLAT.issuperset(map(type, value.__dict__.values())):
        return 1  # faster to compute than to look up
    try:
        found = _depth_slot.__get__(value)
    except AttributeError:
        found = 1 + max([depth_of(part) for part in value.__dict__.values() if type(part) in DEEP], default=0)
        _depth_slot.__set__(value, found)
    return found


def record_of(fields: dict[str, Any]) -> Record:
    """A record that takes over a dictionary of frozen fields; `Record(fields)` takes twice as long."""
    made = _new(Record)
    set_fields(made, fields)
    return made


def vector_of(items: list[Any]) -> Vector:
    """A vector that takes over a list of frozen items."""
    made: Vector = _new(Vector)
    made._buffer = items
    made._length = len(items)
    made._depth = 0
    return made


def parsed_value(value: Any) -> Any:
    """A frozen value that takes over the data that a JSON parser made; its lists are frozen when they are first read.

    `checked_parse` of `json_text` has checked the data: no number is infinite, nothing is nested too deep. A machine
    often holds long lists (a conversation, a history) of which the next step reads little or nothing.
    """
    kind = type(value)
    if kind is dict:
        for key, part in value.items():
            if type(part) in _NESTING:
                value[key] = parsed_value(part)
        return record_of(value)
    if kind is list:
        made: Vector = _new(Vector)
        made._parsed = value
        made._length = len(value)
        made._depth = _UNREAD
        return made
    return value


def items_to_write(vector: Vector) -> list[Any]:
    """The items for an encoder: the parser's list if the vector has not been read since."""
    return (vector._parsed if vector._depth == _UNREAD else vector._buffer)[: vector._length]


def thaw(value: Any) -> Any:
    """A frozen value as plain dicts and lists, for json.dumps and foreign code. Always a copy."""
    kind = type(value)
    if kind is Record:  # class first: `isinstance` of an abstract class costs more than the copy itself
        fields = value.__dict__.copy()
        for key, item in fields.items():
            kind = type(item)
            if kind not in _FLAT:
                fields[key] = thaw(item)
        return fields
    if kind is Vector:
        items = value._buffer[: value._length]
        for place, item in enumerate(items):
            kind = type(item)
            if kind not in _FLAT:
                items[place] = thaw(item)
        return items
    if kind in _FLAT:
        return value
    if kind is not dict and not isinstance(value, Mapping):
        return [thaw(item) for item in value] if isinstance(value, (list, tuple)) else value
    return {key: item if type(item) in _FLAT else thaw(item) for key, item in value.items()}
