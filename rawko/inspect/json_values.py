"""Converts values of a program to JSON for a page; in a trusted chart a value may be any Python object.

    Order(id=7, state=State.OPEN)      {"(Order)": {"id": 7, "state": "OPEN"}}     a dataclass, a model, any object
    datetime(2026, 1, 2, 3, 4)         "2026-01-02T03:04:00"                       types with one usual notation
    b"PK\\x03\\x04"                       "4 bytes: 50 4b 03 04"
    threading.Lock()                   "(lock)"                                    an object without readable fields

Fields are read directly: neither `repr` nor properties of the program's classes are called.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final
from uuid import UUID

from rawko.web.cutting import shown

MAX_DEPTH: Final = 40
MAX_PARTS: Final = 200_000
"""The most mappings, lists and objects in one value; further ones are left out, since values may refer to each
other."""
MAX_BYTES: Final = 64


def _ids(*classes: type) -> frozenset[int]:
    """Their identities. A comparison of two classes could call the `__eq__` of a metaclass of the program."""
    return frozenset(map(id, classes))


_PATHS: Final = (Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath)
_WRITTEN: Final = _ids(UUID, Decimal, Fraction, timedelta, complex, *_PATHS)
_DATES: Final = _ids(datetime, date, time)
_BYTES: Final = _ids(bytes, bytearray, memoryview)
_FUNCTIONS: Final = _ids(FunctionType, BuiltinFunctionType, MethodType)
_LEFT_OUT: Final = "… (more than can be shown)"
_TOO_DEEP: Final = "… (deeper than can be shown)"


def showable(value: Any) -> Any:
    """A value as JSON data, with long parts cut and marked."""
    return shown(plain(value))


def plain(value: Any) -> Any:
    """A value as JSON data, uncut."""
    return _Converter().of(value, MAX_DEPTH)


def brief(value: Any, most: int) -> str:
    """The beginning of a value as JSON, on one line of at most `most` characters."""
    return json.dumps(plain(value), ensure_ascii=False)[:most]


class _Converter:
    """Converts one value, part by part."""

    def __init__(self) -> None:
        self._left = MAX_PARTS
        self._containers: set[int] = set()

    def of(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if isinstance(value, Enum):
            return str(value.name or value.value)  # a flag value without members has no name
        if kind is int or kind is float:
            return value if _is_exact(value) else str(value)
        if id(kind) in _BYTES:
            return _bytes(bytes(value))
        if id(kind) in _DATES:
            return value.isoformat()
        if id(kind) in _WRITTEN:
            return str(value)
        if isinstance(value, type):
            return f"({_name(value)})"
        if id(kind) in _FUNCTIONS:
            return f"(function {value.__qualname__})"
        if id(value) in self._containers:
            return f"… (the {kind.__name__} that holds this)"
        if depth == 0:
            return _TOO_DEEP
        self._left -= 1
        if self._left < 0:
            return _LEFT_OUT
        self._containers.add(id(value))
        try:
            return self._parts(value, depth - 1)
        except Exception as error:  # noqa: BLE001 - a class of the program may raise on access
            return f"({_name(kind)} that cannot be read: {type(error).__name__})"
        finally:
            self._containers.discard(id(value))

    def _parts(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, bool | int | float):
            return _number(value)
        if isinstance(value, Mapping):
            return {self._key(key): self.of(part, depth) for key, part in value.items()}
        if isinstance(value, tuple) and (names := getattr(type(value), "_fields", None)):
            return {
                f"({_name(type(value))})": {
                    name: self.of(part, depth) for name, part in zip(names, value, strict=False)
                }
            }
        if isinstance(value, list | tuple):
            return [self.of(part, depth) for part in value]
        if isinstance(value, Set):
            return sorted((self.of(part, depth) for part in value), key=str)
        fields = {name: self.of(part, depth) for name, part in _fields(value)}
        name = f"({_name(type(value))})"
        return {name: fields} if fields else name

    def _key(self, key: Any) -> str:
        told = self.of(key, 3)
        return told if isinstance(told, str) else ", ".join(map(str, told)) if isinstance(told, list) else str(told)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of an object, read without running its code; nothing for an object without fields."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        held = {}
    for name, part in held.items() if isinstance(held, dict) else ():
        if isinstance(name, str) and not name.startswith("__"):
            yield name, part
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            member: Any = kind.__dict__.get(name)
            if type(member).__name__ == "member_descriptor" and not name.startswith("__"):
                try:
                    yield name, member.__get__(value, type(value))
                except AttributeError:  # not set
                    continue


def _is_exact(value: float) -> bool:
    """Whether a page reads the number exactly: JavaScript rounds larger integers, and JSON has no infinity."""
    return -(2**53) < value < 2**53 if isinstance(value, int) else math.isfinite(value)


def _number(value: float) -> Any:
    """An instance of a subclass of int or float as a plain number."""
    base = int.__int__(value) if isinstance(value, int) else float.__float__(value)
    return base if _is_exact(base) else str(base)


def _bytes(data: bytes) -> str:
    told = f"{len(data):,} bytes: {data[:MAX_BYTES].hex(' ')}"
    return told + " …" if len(data) > MAX_BYTES else told


def _name(kind: type) -> str:
    """The name of a class within its module, such as `Order` or `Shop.Order`."""
    return kind.__qualname__.rpartition("<locals>.")[2]
