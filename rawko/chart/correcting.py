"""Corrects a chart's text where that is certain: a key, a word or a state's name that is one slip away from one other.

The text is checked again after each: a correction stays only if its line then has fewer defects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rawko.chart.check import check_text
from rawko.chart.errors import Diagnostic
from rawko.chart.fragments.files import FragmentFiles, no_files
from rawko.chart.source.nodes import LINE_BREAK

MAX_ROUNDS = 50
"""One correction each: defects of loading are found only when those of reading are mended."""


OF_READING = frozenset(("unknown-key", "invalid-value"))
"""Codes of defects that are corrected before a chart can be loaded."""


@dataclass(frozen=True, slots=True)
class CorrectedChart:
    """A text after its corrections, and the defects that they have mended."""

    text: str
    mended: tuple[Diagnostic, ...]


def correct_chart(
    text: str, *, file: str = "<chart>", trusted: bool = False, fragments: FragmentFiles = no_files
) -> CorrectedChart:
    """Make every certain correction. Comments and layout stay; nothing else is touched."""
    mended: list[Diagnostic] = []
    refused: set[tuple[str, str]] = set()
    for _ in range(MAX_ROUNDS):
        before = check_text(text, file=file, trusted=trusted, fragments=fragments).diagnostics
        for diagnostic in before:
            if diagnostic.correction is None or (diagnostic.code, diagnostic.message) in refused:
                continue
            changed = _written(text, diagnostic)
            if changed is None:
                refused.add((diagnostic.code, diagnostic.message))
                continue
            after = check_text(changed, file=file, trusted=trusted, fragments=fragments).diagnostics
            if _on_line(after, diagnostic) < _on_line(before, diagnostic):
                text = changed
                mended.append(diagnostic)
                break
            refused.add((diagnostic.code, diagnostic.message))
        else:
            break
    return CorrectedChart(text, tuple(mended))


def _on_line(found: Sequence[Diagnostic], where: Diagnostic) -> int:
    """How many defects a line has; behind one of reading there may be others, which a correction brings to light."""
    codes = {where.code} if where.code in OF_READING else {one.code for one in found}
    return sum(
        (one.position.file, one.position.line) == (where.position.file, where.position.line) and one.code in codes
        for one in found
    )


def _written(text: str, diagnostic: Diagnostic) -> str | None:
    """The text with the correction, None where what is found does not stand once in the line of the defect."""
    assert diagnostic.correction is not None
    found, instead = diagnostic.correction.found, diagnostic.correction.instead
    starts = [0, *(match.end() for match in LINE_BREAK.finditer(text))]
    number = diagnostic.position.line
    if not 0 < number <= len(starts):
        return None
    begin = starts[number - 1]
    end = starts[number] if number < len(starts) else len(text)
    at = begin + diagnostic.position.column - 1
    word = re.compile(rf"(?<![\w.]){re.escape(found)}(?![\w.])")
    here = word.match(text, at) or word.match(text, at + 1)
    places = [here] if here is not None else list(word.finditer(text, begin, end))
    if len(places) != 1:
        return None
    return text[: places[0].start()] + instead + text[places[0].end() :]
