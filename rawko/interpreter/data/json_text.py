"""Frozen values to JSON text and back, without plain dicts and lists in between.

The encoder reads records and vectors directly. A parsed text is checked, and its lists and dicts become the inside of
records and vectors (`values.parsed_value`): no other code holds them, so that nothing has to be copied.

msgspec writes and reads, in less than half of the time of Python's own `json`. Values that msgspec refuses are given to
`json`, whose result counts: it writes and reads lone surrogates, which JSON text may name and UTF-8 cannot hold, and
errors are the same with and without msgspec. Without msgspec (not CPython) `json` does everything.
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
"""Levels of nesting accepted in a text: a snapshot adds some around a value of MAX_DEPTH levels."""


class Codec(NamedTuple):
    """An encoder, a decoder, and the errors after which Python's own `json` is tried instead."""

    encode: Callable[[Any], bytes]
    decode: Callable[[str], Any]
    refusals: tuple[type[Exception], ...]


def to_text(value: Any) -> str:
    """A frozen value, or a plain one with frozen parts, as JSON text without spaces; may contain non-ASCII characters.

    Raises:
        TypeError: A part of it is not JSON.
    """
    codec = codec_here()
    try:
        return codec.encode(value).decode()
    except codec.refusals:
        return _encoder.encode(value)


def checked_parse(text: str | bytes) -> Any:
    """A JSON text as plain data whose every part `values.parsed_value` can freeze.

    Raises:
        ValueError: The text is not JSON (`json.JSONDecodeError`), or not valid in its encoding (UnicodeDecodeError).
        NotJsonError: The text holds a number that is not finite, or more than MAX_DEPTH levels.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    codec = codec_here()
    try:
        value = codec.decode(text)
    except codec.refusals:
        value = _decode(text)
    if text.count("{") + text.count("[") >= _LEVELS:  # fewer brackets cannot nest too deep
        _check_levels(value)
    return value


def shallow_parse(text: str) -> Any:
    """As `checked_parse`, in a third of the time for a short text; None for a text that it refuses, or that has enough
    brackets to be nested too deep.
    """
    if len(text) > MAX_DEPTH and text.count("{") + text.count("[") > MAX_DEPTH:
        return None
    codec = codec_here()
    try:
        return codec.decode(text)
    except codec.refusals:
        return None
    except (ValueError, NotJsonError):  # of Python's own `json`
        return None


@cache
def codec_here() -> Codec:
    """The codec of msgspec, else of `json`; msgspec is imported on first use, since many machines are never written."""
    try:
        from msgspec import MsgspecError
        from msgspec.json import Decoder, Encoder
    except ImportError:
        return Codec(lambda value: _encoder.encode(value).encode(), _decode, ())
    return Codec(Encoder(enc_hook=_inside).encode, Decoder().decode, (MsgspecError, UnicodeError, RecursionError))


def _inside(value: Any) -> Any:
    """The plain container inside a frozen one, for an encoder."""
    kind = type(value)
    if kind is Record:
        return value.__dict__
    if kind is Vector:
        return items_to_write(value)
    raise TypeError(f"{kind.__name__} is not JSON")


def _check_levels(value: Any) -> None:
    """Check the depth of parsed data level by level, visiting only the lists and mappings that the garbage collector
    tracks.

    For `{"a": [1, {"b": []}]}` it visits: the mapping; the list; the inner mapping; the empty list. Both loops run in
    C. The collector may skip a mapping that holds only texts and numbers, which counts as one level; so data within one
    level of the limit is checked exactly by `_check_depth`.

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
    """Check the depth of parsed data level by level, visiting every part.

    For `{"a": [1, {"b": 2}]}` it visits: the mapping; the list; 1 and a mapping; 2.

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


_encoder = json.JSONEncoder(default=_inside, check_circular=False, separators=(",", ":"))  # no cycles
_decoder = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def _decode(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> NotJsonError:
    return NotJsonError("value", ..., f"at most {MAX_DEPTH} levels of nesting")
