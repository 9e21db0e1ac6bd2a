"""Measures texts before they are drawn: a table of character widths of DejaVu Sans, nearly equal to Verdana's.

Drawn texts have the measured width as `textLength`, so that a browser with other fonts fits them into that width.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

# Advance of the characters 32 to 126 in hundredths of the font size.
_REGULAR = (
    "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 53 "
    "100 68 69 70 77 63 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 84 50 "
    "50 61 63 55 63 62 35 63 63 28 28 58 28 97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84"
)
_BOLD = (
    "35 46 52 84 70 100 87 31 46 46 52 84 38 42 38 37 70 70 70 70 70 70 70 70 70 70 40 40 84 84 84 58 "
    "100 77 76 73 83 68 68 82 84 37 37 77 64 100 84 85 73 85 77 72 68 81 77 110 77 72 73 46 37 46 84 50 "
    "50 67 72 59 72 68 44 72 71 34 34 67 34 104 71 69 72 72 49 60 48 71 65 92 65 65 58 71 37 71 84"
)
_WIDTHS = tuple(
    {chr(32 + place): int(width) for place, width in enumerate(table.split())} for table in (_REGULAR, _BOLD)
)
_BREAKS = re.compile(r"[^\s(,]*[(,]?\s*")
_NAME_BREAKS = re.compile(r"[^_./-]*[_./-]*\s*")
_ANYWHERE = re.compile(r".[\u0300-\u036f\u200d\ufe0f]*\s*", re.DOTALL)
_WORDS = re.compile(r"\S+\s*")
_ELLIPSIS_LIKE = frozenset("…—→←↺∥")


_SCRIPTS = (("\u0590", "\u05ff", 62), ("\u0600", "\u06ff", 55))
"""Average advance of Hebrew and Arabic letters, in hundredths of the font size."""


@lru_cache(maxsize=20_000)
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width in pixels, rounded up to a tenth of a pixel."""
    known = _WIDTHS[bold]
    hundredths = sum(known.get(char) or _other_width(char, bold=bold) for char in text)
    return -(-hundredths * size // 10) / 10


def _other_width(char: str, *, bold: bool) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    if char in _ELLIPSIS_LIKE:
        return 100
    plain = unicodedata.normalize("NFD", char)[0]
    if plain in _WIDTHS[bold]:
        return _WIDTHS[bold][plain]
    wide = unicodedata.east_asian_width(char)
    if wide in ("W", "F"):
        return 130 if unicodedata.category(char) == "So" else 100
    return next((each for first, last, each in _SCRIPTS if first <= char <= last), 75) + 7 * bold


def fitting(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """The text if it is at most `width` pixels wide, else its beginning with an ellipsis."""
    if text_width(text, size, bold=bold) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(text[:middle] + "…", size, bold=bold) <= width:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…"


def wrapped(text: str, size: float, width: float, *, lines: int) -> list[str]:
    """The text in at most `lines` lines of at most `width` pixels; the last line is cut.

    Lines break at spaces. A word wider than a line, such as `has_agent(name=event.mode)`, breaks after its opening
    brackets and commas; if that is not enough after `_`, `.`, `/` and `-`; and otherwise anywhere, as in scripts
    without spaces.
    """
    pieces = [piece for word in _WORDS.findall(text.strip()) for piece in _pieces(word, size, width)]
    found: list[str] = []
    while pieces:
        if len(found) == lines - 1:
            found.append(fitting("".join(pieces).strip(), size, width))
            break
        line = pieces.pop(0)
        while pieces and text_width((line + pieces[0]).rstrip(), size) <= width:
            line += pieces.pop(0)
        found.append(fitting(line.strip(), size, width))
    return found


def longest_piece(text: str, size: float) -> float:
    """The smallest width, in pixels, with which `wrapped` does not break a name."""
    return max((text_width(piece.strip(), size) for piece in _BREAKS.findall(text)), default=0.0)


def _pieces(word: str, size: float, width: float, breaks: Sequence[re.Pattern[str]] = ()) -> list[str]:
    if text_width(word.rstrip(), size) <= width:
        return [word]
    first, *others = breaks or (_BREAKS, _NAME_BREAKS, _ANYWHERE)
    pieces = [piece for piece in first.findall(word) if piece]
    return [part for piece in pieces for part in _pieces(piece, size, width, others)] if others else pieces
