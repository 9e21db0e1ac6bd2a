"""The rows of docs/requirements.md and the tests that each of them names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"

_ROW = re.compile(r"^\| ((?:S3|A3|S6|AL|NE)-\d{3}|C-\d{2}) \| (\w+) \| (.*) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+(?:\.py|/))(?:::(\w+))?`")
_SCENARIO = re.compile(r"`(statecharts/\w+\.feature)`(?:: ([^;|]+))?")
_TITLE = re.compile(r"^\s*Scenario(?: Outline)?: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """One id of the specification.

    Attributes:
        state: `built`, `partly` or `open`.
        text: The third cell: what shows it, or what is missing.
    """

    id: str
    state: str
    text: str

    def tests(self) -> tuple[tuple[str, str], ...]:
        """Python tests named here as (file or folder, function); "" for the function means the whole file."""
        return tuple(_TEST.findall(self.text))

    def scenarios(self) -> tuple[tuple[str, str], ...]:
        """Scenarios named here as (file, how the title begins); "" for the title means the whole file."""
        return tuple(
            (file, re.sub(r"\s*\([^)]*\)\s*$", "", title.strip())) for file, title in _SCENARIO.findall(self.text)
        )


def rows() -> tuple[Row, ...]:
    """All rows of the page, in its order."""
    return tuple(Row(*found) for found in _ROW.findall(PAGE.read_text(encoding="utf-8")))


def scenarios(file: str, beginning: str) -> Iterator[tuple[int, str]]:
    """Place, from 1, and title of the scenarios in a contract whose titles begin so."""
    titles = _TITLE.findall((ROOT / file).read_text(encoding="utf-8"))
    return ((number, title.strip()) for number, title in enumerate(titles, 1) if title.startswith(beginning))
