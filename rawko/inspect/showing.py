"""Values of a program as JSON for a page, whatever they are: of a trusted chart they may be any Python object."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any, Final

from rawko.web.cutting import shown

MAX_DEPTH: Final = 40
_REPR_CHARS: Final = 500


def showable(value: Any) -> Any:
    """A value that JSON can carry: what is no JSON becomes its `repr`, what is long is cut and says so."""
    return shown(plain(value))


def plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A value that JSON can carry, uncut."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -(2**53) < value < 2**53 else _repr(value)  # a page would round it
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if depth == 0:
        return "… (deeper than can be shown)"
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else _repr(key): plain(part, depth - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part, depth - 1) for part in value]
    if isinstance(value, Set):
        return [plain(part, depth - 1) for part in sorted(value, key=_repr)]
    return _repr(value)


def _repr(value: Any) -> str:
    try:
        told = repr(value)
    except Exception as error:  # noqa: BLE001 - foreign code; what cannot be shown says so
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return told if len(told) <= _REPR_CHARS else told[: _REPR_CHARS - 1] + "…"
