"""What a terminal shows, as data: text, hash, and what has changed between two of them. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

MAX_HIGHLIGHTS: Final = 40


@dataclass(frozen=True, slots=True)
class Highlight:
    """A stretch in reverse video or on a colour of its own; line and column count from 0."""

    line: int
    column: int
    text: str


@dataclass(frozen=True)
class Screen:
    """One screen.

    Attributes:
        lines: All of them, top to bottom, without the blanks at their ends.
        columns: Width of the terminal, in cells; wide characters take two.
        cursor: (column, line), from 0.
        is_alternate: The program draws on the alternate screen, as editors and pagers do.
    """

    lines: tuple[str, ...]
    columns: int
    cursor: tuple[int, int] = (0, 0)
    title: str = ""
    is_alternate: bool = False
    highlights: tuple[Highlight, ...] = ()

    @cached_property
    def text(self) -> str:
        """The lines that say something, and those between them."""
        return "\n".join(self.lines).rstrip("\n")

    @cached_property
    def hash(self) -> str:
        """Equal for screens that look the same: text, what is marked in it, and where the cursor stands."""
        marked = [(mark.line, mark.column, mark.text) for mark in self.highlights]
        said = repr((self.lines, self.cursor, marked))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """The screen for the record."""
        marks = self.highlights[:MAX_HIGHLIGHTS]
        return {
            "hash": self.hash,
            "text": self.text,
            "size": [self.columns, len(self.lines)],
            "cursor": list(self.cursor),
            "title": self.title,
            "is_alternate": self.is_alternate,
            "highlights": [{"line": m.line, "column": m.column, "text": m.text} for m in marks],
        }


def changed_lines(before: Sequence[str], after: Sequence[str]) -> list[dict[str, Any]]:
    """The lines that differ: [{line, text}], `text` as it is now; line counts from 0.

    Lines are compared by their place, as a terminal shows them: text that has scrolled has changed everywhere.
    """
    height = max(len(before), len(after))
    old, new = _filled(before, height), _filled(after, height)
    return [{"line": y, "text": new[y]} for y in range(height) if old[y] != new[y]]


def _filled(lines: Sequence[str], height: int) -> list[str]:
    return [*lines, *([""] * (height - len(lines)))]


def text_of(event: Mapping[str, Any]) -> str:
    """The text of a recorded screen."""
    return str(event["screen"]["text"])
