"""Frozen values as JSON text, and back, without plain dicts and lists in between.

To write, the encoder looks into records and vectors as they are. To read, what the parser made is checked, and becomes
the inside of records and vectors (`values.parsed_value`): no other code holds it, so that nothing has to be copied.

msgspec writes and reads, in less than half of the time that Python's own `json` takes. What it refuses is given to
`json`, which decides: lone surrogates, which a text of JSON may name and UTF-8 cannot hold, are written and read; an
error is the same with and without msgspec. Without it (not CPython) `json` does all of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from gc import get_referents, is_tracked
from itertools import chain
from math import isfinite
from typing import Any, NamedTuple

from rawko.interpreter.data.freezing import MAX_DEPTH
from rawko.interpreter.data.values import Record, Vector, items_to_write
from rawko.interpreter.errors import NotJsonError

_LEVELS = MAX_DEPTH + 16
"""Levels of lists and mappings in a text: a snapshot has some around a value that was accepted with MAX_DEPTH."""


class Codec(NamedTuple):
    """How values become text and back, and the errors after which Python's own `json` decides."""

    encode: Callable[[Any], bytes]
    decode: Callable[[str], Any]
    refusals: tuple[type[Exception], ...]


def to_text(value: Any) -> str:
    """A frozen value, or a plain one with frozen parts, as JSON text without spaces; not ASCII alone.

    Raises:
        TypeError: Something in it is not JSON.
    """
    codec = codec_here()
    try:
        return codec.encode(value).decode()
    except codec.refusals:
        return _encoder.encode(value)


def checked_parse(text: str | bytes) -> Any:
    """A JSON text as plain data whose every part `values.parsed_value` can freeze.

    Raises:
        ValueError: It is not JSON (`json.JSONDecodeError`), or UnicodeDecodeError.
        NotJsonError: It holds a number that is not finite, or more than MAX_DEPTH levels.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    codec = codec_here()
    try:
        value = codec.decode(text)
    except codec.refusals:
        value = _decode(text)
    if text.count("{") + text.count("[") >= _LEVELS:  # with fewer brackets it cannot be too deep
        _check_levels(value)
    return value


@cache
def codec_here() -> Codec:
    """msgspec's; it is imported when the first text is written or read, since many machines never are one."""
    try:
        from msgspec import MsgspecError
        from msgspec.json import Decoder, Encoder
    except ImportError:
        return Codec(lambda value: _encoder.encode(value).encode(), _decode, ())
    return Codec(Encoder(enc_hook=_inside).encode, Decoder().decode, (MsgspecError, UnicodeError, RecursionError))


def _inside(value: Any) -> Any:
    """The plain container in a frozen one, for an encoder."""
    kind = type(value)
    if kind is Record:
        return value.__dict__
    if kind is Vector:
        return items_to_write(value)
    raise TypeError(f"{kind.__name__} is not JSON")


def _check_levels(value: Any) -> None:
    """Look at parsed data level by level: at its lists and mappings alone, since the collector tracks no other parts.

    `{"a": [1, {"b": []}]}` is looked at as: the mapping; the list; the inner mapping; the empty list. Both loops run in
    C. The collector may also leave out a mapping that holds only texts and numbers, which counts as one level: data
    that comes within one level of the limit is looked at exactly.

    Raises:
        NotJsonError: There are too many levels.
    """
    level = [value]
    for _ in range(_LEVELS - 2):
        level = [*filter(is_tracked, get_referents(*level))]
        if not level:
            return
    _check_depth(value)


def _check_depth(value: Any) -> None:
    """Look at parsed data level by level, at every part of it.

    `{"a": [1, {"b": 2}]}` is looked at as: the mapping; the list; 1 and a mapping; 2.

    Raises:
        NotJsonError: There are too many levels.
    """
    level = [value]
    for _ in range(_LEVELS):
        kinds = set(map(type, level))
        if dict in kinds:
            objects = level if len(kinds) == 1 else [part for part in level if type(part) is dict]
            arrays = [part for part in level if type(part) is list] if list in kinds else []
            level = [*chain.from_iterable(map(dict.values, objects)), *chain.from_iterable(arrays)]
        elif list in kinds:
            level = [*chain.from_iterable([part for part in level if type(part) is list])]
        else:
            return
    raise _too_deep()


def _finite(text: str) -> float:
    value = float(text)
    if isfinite(value):
        return value
    raise NotJsonError("value", value, "a finite number")


_encoder = json.JSONEncoder(default=_inside, check_circular=False, separators=(",", ":"))  # frozen: no circles
_decoder = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def _decode(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> NotJsonError:
    return NotJsonError("value", ..., f"at most {MAX_DEPTH} levels of nesting")
