"""The findings of reviewers: parsed from their text, merged, sorted by severity. Pure.

A reviewer ends with one line per finding, or with NO FINDINGS:

    FINDING blocking src/a.py:12 The loop never ends where n is 0
    FINDING minor README.md A word is missing

A review in any other form becomes one blocking finding with the reviewer's text: nothing passes that was not parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final, Literal, get_args

from rawko.cutting import cut
from rawko.vocabulary.base import Data

Severity = Literal["blocking", "major", "minor"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""The most severe first."""

MAX_TEXT: Final = 2_000
MAX_FINDINGS: Final = 200
"""Findings of one reviewer; one more finding states the number of those beyond."""

_LINE: Final = re.compile(r"^[\s*>-]*FINDING[:\s]+(\w+)[:\s]+(\S+)\s+(\S.*)$", re.IGNORECASE)
_NONE: Final = re.compile(r"^\W*NO FINDINGS\W*$", re.IGNORECASE | re.MULTILINE)
_PLACE: Final = re.compile(r"^([^:]+?)(?::(\d+))?(?:[-:,]\d+)*:?$")
_ALIKE: Final = 0.8
_NEAR_LINES: Final = 3


class Finding(Data):
    """One defect that a reviewer reports.

    Attributes:
        path: Path of the file, as the reviewer names it; "" where none is named.
        line: Line number, from 1; 0 where none is named.
        reviewers: The reviewers that report it.
    """

    severity: Severity
    path: str = ""
    line: int = 0
    text: str
    reviewers: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


def read_findings(reviewer: str, words: str) -> tuple[Finding, ...]:
    """The findings in the text of one reviewer."""
    found: list[Finding] = []
    for line in words.splitlines():
        match = _LINE.match(line)
        if match is not None:
            found.append(_finding(reviewer, *match.groups()))
    if len(found) > MAX_FINDINGS:
        more = Finding(severity="major", text=f"{len(found) - MAX_FINDINGS} findings more", reviewers=(reviewer,))
        return (*found[:MAX_FINDINGS], more)
    if found or _NONE.search(words):
        return tuple(found)
    text = cut(words.strip(), MAX_TEXT) or "The review says nothing"
    return (Finding(severity="blocking", text=text, reviewers=(reviewer,)),)


def _finding(reviewer: str, severity: str, place: str, text: str) -> Finding:
    word = severity.lower()
    known: Severity = next((one for one in SEVERITIES if one == word), "blocking")
    where = _PLACE.match(place.replace("`", ""))
    if where is None or not re.search(r"[./]|^\w+$", where[1]):
        return Finding(severity=known, text=cut(f"{place} {text}", MAX_TEXT), reviewers=(reviewer,))
    path, line = where[1], int(where[2] or 0)
    return Finding(severity=known, path=path, line=line, text=cut(text.strip(), MAX_TEXT), reviewers=(reviewer,))


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings without duplicates: of each group of equal ones the most severe, with all its reviewers.

    Two findings are equal if they name the same file, lines at most three apart (or no line), and similar text. Sorted
    by severity, then by number of reviewers.

        blocking a.py:12 "The loop never ends"  (ann)   ->  blocking a.py:12 "The loop never ends"  (ann, bob)
        minor    a.py:13 "the loop never ends"  (bob)
    """
    groups: list[Finding] = []
    for one in findings:
        place = next((index for index, other in enumerate(groups) if _is_same(one, other)), None)
        if place is None:
            groups.append(one)
        else:
            groups[place] = _joined(groups[place], one)
    return tuple(sorted(groups, key=lambda one: (_rank(one), -len(one.reviewers), one.path, one.line, one.text)))


def blocking(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings that prevent delivery."""
    return tuple(one for one in findings if one.severity == "blocking")


def _is_same(one: Finding, other: Finding) -> bool:
    if one.path != other.path or (one.line and other.line and abs(one.line - other.line) > _NEAR_LINES):
        return False
    text, another = one.text.lower(), other.text.lower()
    return text == another or SequenceMatcher(None, text, another, autojunk=False).ratio() >= _ALIKE


def _joined(one: Finding, other: Finding) -> Finding:
    graver, rest = (one, other) if _rank(one) <= _rank(other) else (other, one)
    reviewers = dict.fromkeys((*one.reviewers, *other.reviewers))
    return graver.model_copy(update={"line": graver.line or rest.line, "reviewers": tuple(reviewers)})


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)
