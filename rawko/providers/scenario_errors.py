"""Defects of scenario files: their positions and their words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing wrong with a scenario file. Line and column count from 1."""

    source: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.message}"


class ScenarioError(ValueError):
    """A scenario cannot be used. `defects` holds every defect that was found, in the file's order."""

    def __init__(self, defects: tuple[Defect, ...]) -> None:
        super().__init__("\n".join(map(str, defects)))
        self.defects = defects


class ScenarioNotFoundError(ScenarioError):
    """No scenario has the name, or no file is at the path. `name` is what was asked for."""

    def __init__(self, name: str, message: str) -> None:
        ValueError.__init__(self, message)
        self.defects = ()
        self.name = name


_ABBREVIATION_CHARS = 4
"""From so many characters on, a part of a name is taken for it: `input` for `input_tokens`."""


def accepted(names: Iterable[str], *, found: object = None, label: str = "accepted") -> str:
    """The end of a message: "; did you mean 'x'? accepted: 'x', 'y'"; without a near name only the list."""
    names = tuple(names)
    near = _nearest(found, names) if isinstance(found, str) else None
    hint = f"; did you mean {near!r}? " if near else "; "
    return f"{hint}{label}: {', '.join(map(repr, names))}"


def _nearest(found: str, names: tuple[str, ...]) -> str | None:
    containing = [name for name in names if len(found) >= _ABBREVIATION_CHARS and found in name]
    return next(iter(get_close_matches(found, names, n=1) or containing), None)
