"""Context values as text close to YAML: on one line, as a block of lines, and as a list of changes.

    flow({"tool": "bash", "tries": [1, None]})      {tool: bash, tries: [1, null]}
    block_of({"tool": "bash", "tries": [1, None]})  tool: bash
                                                    tries:
                                                      - 1
                                                      - null
    changes_of("plan", {"at": 0, "steps": ["a"]}, {"at": 1, "steps": ["a", "b"]})
                                                    plan.at: 0 → 1
                                                    plan.steps.1 + b

Values may have megabytes: only the part that is shown is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from rawko.app.views.words import line as one_line
from rawko.cutting import cut

MAX_LINES: Final = 14
"""The most lines of one value; an extra line marks that more were left out."""
MAX_LEAVES: Final = 4_000
"""The most values in a list or mapping whose changes are listed one by one; a larger one gets one line."""
FLOW_CHARS: Final = 80
LINE_CHARS: Final = 110
"""The most characters of a line of a block."""
MAX_DEPTH: Final = 20
"""The most nesting levels; deeper values are shown on one line."""
MORE: Final = "…"
_LIKE_ANOTHER: Final = re.compile(r"(?i:null|true|false|~|[-+.]?\d[\d_.]*(e[-+]?\d+)?|)")
"""Matches texts that YAML would read as another type without quotes."""


def flow(value: Any, chars: int = FLOW_CHARS) -> str:
    """A value on one line of at most `chars` characters."""
    found: list[str] = []
    length = 0
    for piece in _pieces(value):
        found.append(piece)
        length += len(piece)
        if length > chars:
            break
    return cut("".join(found), chars, MORE)


def block_of(value: Any, most: int = MAX_LINES) -> list[str]:
    """A value as at most `most` lines, and one more where lines were left out."""
    return _some(_block(value, ""), most)


def changes_of(name: str, before: Any, after: Any, most: int = MAX_LINES) -> list[str]:
    """The differences between two values of a field, one line per place; the module has an example."""
    if is_filled(before) and is_filled(after):
        old, new = _leaves(before), _leaves(after)
        if old is not None and new is not None:
            return _some(_differences(name, old, new), most)
    if is_filled(after) and not is_filled(before):
        return [f"{name}: was {flow(before)}, now", *(f"  {one}" for one in block_of(after, most))]
    return [f"{name}: {flow(before)} → {flow(after)}"]


def is_filled(value: Any) -> bool:
    """Whether a value is a mapping or list that is not empty."""
    return isinstance(value, Mapping | list | tuple) and bool(value)


def _some(lines: Iterable[str], most: int) -> list[str]:
    found = list(islice(lines, most + 1))
    return found if len(found) <= most else [*found[:most], MORE]


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        text = one_line(value)
        return f'"{text}"' if _LIKE_ANOTHER.fullmatch(text) else text
    if isinstance(value, Mapping):
        return "{}"
    return "[]" if isinstance(value, list | tuple) else one_line(value)


def _pieces(value: Any) -> Iterator[str]:
    if not is_filled(value):
        yield _scalar(value)
        return
    is_mapping = isinstance(value, Mapping)
    yield "{" if is_mapping else "["
    for number, (key, one) in enumerate(_items(value)):
        yield ", " if number else ""
        yield f"{one_line(key)}: " if is_mapping else ""
        yield from _pieces(one)
    yield "}" if is_mapping else "]"


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items()) if isinstance(value, Mapping) else enumerate(value)


def _block(value: Any, indent: str) -> Iterator[str]:
    if not is_filled(value) or len(indent) >= 2 * MAX_DEPTH:
        yield indent + _short(value)
        return
    is_mapping = isinstance(value, Mapping)
    for key, one in _items(value):
        if not is_filled(one):
            yield f"{indent}{f'{one_line(key)}:' if is_mapping else '-'} {_short(one)}"
        elif is_mapping:
            yield f"{indent}{one_line(key)}:"
            yield from _block(one, f"{indent}  ")
        else:
            for number, text in enumerate(_block(one, f"{indent}  ")):
                yield text if number else f"{indent}- {text.removeprefix(f'{indent}  ')}"


def _short(value: Any) -> str:
    return flow(value, LINE_CHARS)


def _leaves(value: Any) -> dict[tuple[str, ...], Any] | None:
    """Each scalar in a value by its path; None where there are more than `MAX_LEAVES`."""
    found = dict(islice(_walk(value, ()), MAX_LEAVES + 1))
    return found if len(found) <= MAX_LEAVES else None


def _walk(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not is_filled(value) or len(place) >= MAX_DEPTH:
        yield place, value
        return
    for key, one in _items(value):
        yield from _walk(one, (*place, one_line(key)))


def _differences(name: str, old: Mapping[tuple[str, ...], Any], new: Mapping[tuple[str, ...], Any]) -> Iterator[str]:
    for place in dict.fromkeys((*old, *new)):
        where = ".".join((name, *place))
        if place not in new:
            yield f"{where} − {flow(old[place])}"
        elif place not in old:
            yield f"{where} + {flow(new[place])}"
        elif old[place] != new[place]:
            yield f"{where}: {flow(old[place])} → {flow(new[place])}"
