"""Defects that change nothing that a user could see: `equivalents.yaml`, read by hand and listed with the reason.

A row names the function, quotes the line of source and what stands there with the defect, so that it no longer counts
once the line is another; `test_equivalents.py` fails then.
"""

from __future__ import annotations

import ast
from functools import cache, lru_cache
from pathlib import Path

import yaml

from tests.mutation.operators import Place

LISTED = Path(__file__).with_name("equivalents.yaml")

Key = tuple[str, str, str, str]
"""Path of the module; name of the innermost function, "" outside of one; the line where the defect begins, without
indentation; the text of the defect, on one line."""


def key(path: str, source: str, place: Place) -> Key:
    line = source.splitlines()[place.line - 1].strip()
    return path, _function_name(source, place.line), line, " ".join(place.text.split())


def _function_name(source: str, line: int) -> str:
    around = [(first, name) for first, last, name in _functions(source) if first <= line <= last]
    return max(around, default=(0, ""))[1]


@lru_cache(8)
def _functions(source: str) -> list[tuple[int, int, str]]:
    """First line, last line and name of every function of a module."""
    return [
        (node.lineno, node.end_lineno or node.lineno, node.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


@cache
def reasons() -> dict[Key, str]:
    """Why each listed defect changes nothing."""
    rows = yaml.safe_load(LISTED.read_text(encoding="utf-8"))
    return {(row["path"], row["function"], row["line"], row["defect"]): row["why"] for row in rows}
