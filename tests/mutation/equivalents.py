"""Defects that change nothing that a user could see: `equivalents.yaml`, read by hand and listed with the reason.

A row quotes the line of source and what stands there with the defect, so that it no longer counts once the line is
another; `test_equivalents.py` fails then.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from tests.mutation.operators import Place

LISTED = Path(__file__).with_name("equivalents.yaml")

Key = tuple[str, str, str]
"""Path of the module; the line where the defect begins, without indentation; the text of the defect, on one line."""


def key(path: str, source: str, place: Place) -> Key:
    line = source.splitlines()[place.line - 1].strip()
    return path, line, " ".join(place.text.split())


@cache
def reasons() -> dict[Key, str]:
    """Why each listed defect changes nothing."""
    rows = yaml.safe_load(LISTED.read_text(encoding="utf-8"))
    return {(row["path"], row["line"], row["defect"]): row["why"] for row in rows}
