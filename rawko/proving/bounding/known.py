"""Contexts, events and values with some known fields: a call that reads anything else of them is ended.

    output {verdict: go}      output.verdict, output["verdict"], output.get("verdict"), "verdict" in output    known
                              output.score, len(output), output == other, dict(output)                         unknown

`isinstance` sees the class of the real value. Reads of unknown values are recorded, so that a function that catches the
exception which ends its call cannot hide it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from rawko.interpreter.data.events import InvocationEvent
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import LiveRecord, Record


class Unread(BaseException):
    """A function reads a value that is unknown."""


class Reads:
    """The reads of a chart's functions.

    Attributes:
        reader: The function that is being called, in words.
        is_unread: The function has read an unknown value.
        lacking: Unknown fields that were read after a known ending: (reader, ending, field), each in words.
    """

    def __init__(self) -> None:
        self.reader = ""
        self.is_unread = False
        self.lacking: dict[tuple[str, str, str], None] = {}

    def unread(self, ending: str, field: str) -> NoReturn:
        """Record the read and end the call."""
        self.is_unread = True
        if ending:
            self.lacking[self.reader, ending, field] = None
        raise Unread


class KnownFields(Mapping[str, Any]):
    """A mapping with some known fields.

    Args:
        kind: The class of the real value.
        ending: The ending that has the value, in words; "" for none.
        path: Path of the value, beginning at the event.
    """

    __slots__ = ("__ending", "__kind", "__path", "__reads", "__values")

    def __init__(
        self, values: Mapping[str, Any], reads: Reads, kind: type = LiveRecord, ending: str = "", path: str = ""
    ) -> None:
        self.__values = values
        self.__reads = reads
        self.__kind = kind
        self.__ending = ending
        self.__path = path

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self.__kind

    def __unread(self, what: str) -> NoReturn:
        self.__reads.unread(self.__ending, what)

    def __field(self, name: object) -> str:
        return f"{self.__path}.{name}" if self.__path else str(name)

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __getitem__(self, name: Any) -> Any:
        values = self.__values
        if name not in values:
            self.__unread(self.__field(name))
        return values[name]

    def get(self, name: Any, default: Any = None) -> Any:
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self.__values or self.__unread(self.__field(name))

    def __bool__(self) -> bool:
        return bool(self.__values) or self.__whole()

    def __whole(self, *others: object) -> NoReturn:
        self.__unread(f"all of {self.__path}")

    def __eq__(self, other: object) -> bool:
        self.__whole()

    def __iter__(self) -> Iterator[str]:
        self.__whole()

    def __len__(self) -> int:
        self.__whole()

    def __repr__(self) -> str:
        self.__whole()

    def __format__(self, spec: str) -> str:
        self.__whole()

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.__whole()

    def keys(self) -> Any:
        self.__whole()

    def items(self) -> Any:
        self.__whole()

    def values(self) -> Any:
        self.__whole()

    __hash__ = None  # type: ignore[assignment]


_OWN: Final = ("at_ms", "id", "number")
"""Attributes of actors' events besides their payload."""


class KnownEvent:
    """An event with some known fields.

    Args:
        data: The whole payload, for the end of an actor; None: unknown.
    """

    __slots__ = ("__fields", "__reads")

    def __init__(self, fields: Mapping[str, Any], reads: Reads, data: Mapping[str, Any] | None = None) -> None:
        self.__reads = reads
        self.__fields = fields if data is None else {**data, **fields, "data": Record(dict(data))}

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        if "data" not in self.__fields:
            self.__reads.unread("", "")
        return InvocationEvent

    def __getattr__(self, name: str) -> Any:
        fields = self.__fields
        if name in fields:
            return fields[name]
        if "data" in fields and not name.startswith("_") and name not in _OWN:
            raise AttributeError(f"event {fields['name']!r} has no field {name!r}")
        return self.__reads.unread("", "")

    def __eq__(self, other: object) -> bool:
        self.__reads.unread("", "")

    __hash__ = None  # type: ignore[assignment]


UNKNOWN_KINDS: Final = (KnownFields, KnownEvent)


def known_value(value: Any, reads: Reads, ending: str, path: str) -> Any:
    """A value of an ending; in a mapping, and in mappings inside it, only the given fields are known."""
    if isinstance(value, dict):
        fields = {name: known_value(one, reads, ending, f"{path}.{name}") for name, one in value.items()}
        return KnownFields(fields, reads, Record, ending, path)
    return freeze(value, path)


def is_known_mapping(value: Any) -> bool:
    """Whether a value is a mapping with unknown fields."""
    return type(value) in UNKNOWN_KINDS
