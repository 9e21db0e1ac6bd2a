r"""Wraps painted lines at words to the terminal's width, with continuation lines indented.

    wrapped("  ▸ bash python3 -m pytest -q tests", 24)    "  ▸ bash python3 -m"
                                                          "    pytest -q tests"

Styles (`\x1b[2m`) take no cells and stay in force across line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len, get_character_cell_size

_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")
_PIECES: Final = re.compile(r"\x1b\[[0-9;]*m| +|[^ \x1b]+")
_LEAST_ROOM: Final = 8


def cells(text: str) -> int:
    """The number of cells of a text on a terminal; styles take none."""
    plain = _STYLE.sub("", text)
    return len(plain) if plain.isascii() else cell_len(plain)


def wrapped(text: str, columns: int, hang: int | None = None) -> str:
    """A painted line as lines of at most `columns - 1` cells.

    Args:
        hang: Cells by which continuation lines are indented; by default two more than the first line.
    """
    room = max(columns - 1, _LEAST_ROOM)
    if cells(text) <= room:
        return text
    plain = _STYLE.sub("", text)
    hang = min(len(plain) - len(plain.lstrip(" ")) + 2 if hang is None else hang, room - _LEAST_ROOM)
    lines: list[str] = []
    line, width, pending = "", 0, ""  # `pending`: spaces and styles before the next word
    for piece in _PIECES.findall(text):
        if piece[0] in "\x1b ":
            pending += piece
            continue
        for part in _parts(piece, room - hang):
            taken = cells(part)
            if width and width + cells(pending) + taken > room:
                lines.append(line)
                line, width, pending = " " * hang, hang, "".join(_STYLE.findall(pending))
            line, width, pending = line + pending + part, width + cells(pending) + taken, ""
    return "\n".join([*lines, line + pending.rstrip(" ")])


def _parts(word: str, room: int) -> Iterator[str]:
    """A word in parts that each fit on a line."""
    if cells(word) <= room:
        yield word
        return
    part, width = "", 0
    for character in word:
        taken = get_character_cell_size(character)
        if width + taken > room:
            yield part
            part, width = "", 0
        part, width = part + character, width + taken
    yield part
