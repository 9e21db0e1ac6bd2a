"""Escapes untrusted text for display: the one place that decides what a terminal, a page or a person is shown.

A character that is invisible, moves the cursor, reorders its neighbours or belongs to no text becomes an escape
(`\\x1b`, `\\u202e`, `\\U000e0041`). Ordinary text stays unchanged: accents, every script, right-to-left words without
explicit controls, emoji with their joiners and selectors.

    visible       text of several lines; newlines and tabs stay
    visible_line  one line: newlines and tabs become `\\n` and `\\t`, because a newline could forge another line
    exact         as `visible`, and escapes characters that look like ASCII: for commands and calls to be approved
    exact_line    as `visible_line`, and exact
    visible_html  as `visible`, as text or an attribute of an HTML page
    visible_json  a value as one line of JSON; the escapes are JSON's own, so the value stays the same
    VisibleStream text that arrives in pieces, cut anywhere
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import Any, Final, Literal

from rawko.vocabulary.lookalikes import look_alikes

MAX_MARKS: Final = 4
"""The most combining marks on one letter; a higher pile would cover the lines around it."""

_SPECIAL: Final = re.compile("[^\t\n\x20-\x7e]+")
_BREAKS: Final = {"\n": "\\n", "\t": "\\t"}
_ZWNJ, _ZWJ = "\u200c", "\u200d"
_SELECTORS: Final = frozenset("\ufe0e\ufe0f")
_KEYCAPS: Final = frozenset("0123456789#*")

# Categories whose characters are all escaped: controls, lone surrogates, line and paragraph separators, format
# characters (bidirectional controls, zero width, tags, soft hyphen, byte order mark).
_ESCAPED: Final = frozenset({"Cc", "Cs", "Zl", "Zp", "Cf"})
# Characters of other categories that Unicode calls default-ignorable, or that fonts draw as nothing.
_INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U00016fe4")
_INVISIBLE_RANGES: Final = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xFFF0, 0xFFFB), (0x1D159, 0x1D159),
                            (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF), (0xFDD0, 0xFDEF))  # fmt: skip

# Scripts in whose words a (non-)joiner changes the form of a letter: Arabic and related ones, and those of South Asia.
_JOINING: Final = ((0x0600, 0x08FF), (0x0900, 0x0DFF), (0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x18AF),
                   (0xA800, 0xABFF), (0x11000, 0x11FFF))  # fmt: skip


def visible(text: str) -> str:
    """Text of several lines for display; newlines and tabs stay, a CR before a newline is removed."""
    return _shown(text)


def visible_line(text: str) -> str:
    """Like `visible`, in one line."""
    return _one_line(_shown(text))


def visible_html(text: str) -> str:
    """Like `visible`, as text or a quoted attribute of an HTML page."""
    from html import escape  # not at the top: most starts of rawko write no page

    return escape(visible(text))


def exact(text: str) -> str:
    """Escape a text that a person is to approve: look-alike characters are escaped too. A CR is never removed."""
    return _shown(text, is_exact=True)


def exact_line(text: str) -> str:
    """Like `exact`, in one line."""
    return _one_line(_shown(text, is_exact=True))


def visible_json(value: Any, **options: Any) -> str:
    """A JSON value as text, in one line unless `indent` is given; invisible characters become JSON escapes.

    Args:
        options: Passed to `json.dumps`.
    """
    text = json.dumps(value, ensure_ascii=False, **options)
    return _SPECIAL.sub(lambda run: "".join(_json_escaped(char) for char in run[0]), text)


class VisibleStream:
    """Escapes text that arrives in pieces; a piece may end in the middle of a grapheme cluster or of a line end."""

    def __init__(self) -> None:
        self._before = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        """The text that can be shown so far; the rest is held back until the next piece."""
        text = self._held + piece
        cut = len(text)
        while cut and text[cut - 1] in _UNDECIDED and len(text) - cut < len(_UNDECIDED):
            cut -= 1
        self._held = text[cut:]
        return self._show(text[:cut], following=self._held)

    def end(self) -> str:
        """The text that is still held back, escaped."""
        held, self._held = self._held, ""
        return self._show(held)

    def _show(self, text: str, following: str = "") -> str:
        shown = _shown(text, before=self._before)
        self._before = (self._before + text)[-(MAX_MARKS + 2) :]
        return shown


_UNDECIDED: Final = frozenset(("\r", _ZWJ, _ZWNJ))


def escaped(char: str) -> str:
    """A character by its code point, in Python's notation."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _one_line(shown: str) -> str:
    return shown.replace("\n", "\\n").replace("\t", "\\t")


def _shown(text: str, *, is_exact: bool = False, before: str = "") -> str:
    """Escape a text.

    Args:
        before: The text that precedes it; the first characters may depend on it.
    """
    if _SPECIAL.search(text) is None:
        return text
    alike = look_alikes(text) if is_exact else frozenset()
    whole, start = before + text, len(before)

    def show(run: re.Match[str]) -> str:
        offsets = range(max(run.start(), start), run.end())
        return "".join(
            escaped(whole[at]) if at - start in alike else _one(whole, at, is_exact=is_exact) for at in offsets
        )

    return _SPECIAL.sub(show, whole)[_ascii_before(before) :]


def _ascii_before(before: str) -> int:
    """Length of the ASCII end of `before`, which is printed again: only other characters go through `show`."""
    return sum(1 for char in before if char in "\t\n" or " " <= char <= "~")


def _one(text: str, at: int, *, is_exact: bool) -> str:
    """The displayed form of one character that is not printable ASCII."""
    char = text[at]
    kind = _kind(char)
    if kind == "plain":
        return char
    if kind == "mark":
        return char if _carries(text, at, is_exact=is_exact) else escaped(char)
    if is_exact:
        return escaped(char)
    if char == "\r" and text[at + 1 : at + 2] == "\n":
        return ""
    return char if _belongs(char, text, at) else escaped(char)


@lru_cache(maxsize=8192)
def _kind(char: str) -> Literal["plain", "mark", "hidden"]:
    category = unicodedata.category(char)
    code = ord(char)
    if (
        category in _ESCAPED
        or char in _INVISIBLE
        or any(first <= code <= last for first, last in _INVISIBLE_RANGES)
        or code & 0xFFFE == 0xFFFE  # a noncharacter
    ):
        return "hidden"
    return "mark" if category[0] == "M" else "plain"


def _belongs(char: str, text: str, at: int) -> bool:
    """Whether a joiner or selector stands where its script requires it."""
    previous = text[at - 1] if at else "\n"
    if char in _SELECTORS:
        return previous in _KEYCAPS or unicodedata.category(previous) in ("So", "Po", "Sm")
    return char in (_ZWJ, _ZWNJ) and _joins(char, text, at)


def _carries(text: str, at: int, *, is_exact: bool) -> bool:
    """Whether a letter precedes the combining mark, and does not carry too many marks yet."""
    base = at - 1
    while base >= 0 and at - base <= MAX_MARKS and (_kind(text[base]) == "mark" or text[base] in _SELECTORS):
        base -= 1
    if base < 0 or at - base > MAX_MARKS:
        return False
    carrier = text[base]
    if carrier.isspace() or _kind(carrier) == "hidden":
        return carrier in (_ZWJ, _ZWNJ) and not is_exact and _joins(carrier, text, base)
    return not (is_exact and carrier.isascii())  # "e" with a combining mark is a different name from the letter "é"


def _joins(char: str, text: str, at: int) -> bool:
    """Whether a joiner is needed here: in words of joining scripts, or (ZWJ) between two emoji."""
    previous, following = text[at - 1] if at else "", text[at + 1 : at + 2]
    if previous and following and _is_joining(previous) and _is_joining(following):
        return True
    if char != _ZWJ or not previous or not following:
        return False
    base = text[at - 2] if previous in _SELECTORS and at > 1 else previous
    return _is_picture(base) and _is_picture(following)


def _is_joining(char: str) -> bool:
    code = ord(char)
    return any(first <= code <= last for first, last in _JOINING) and unicodedata.category(char)[0] in "LM"


def _is_picture(char: str) -> bool:
    """An emoji that may be part of a sequence, or a skin tone."""
    return ord(char) >= 0x2190 and unicodedata.category(char) in ("So", "Sk", "Cn")


def _json_escaped(char: str) -> str:
    if _kind(char) != "hidden":
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
