"""Formats changed files and values as one line each."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from rawko.interpreter.data.values import Record, Vector, thaw
from rawko.vocabulary.snapshot import FileChange

_SIGNS = {"added": "A", "modified": "M", "deleted": "D"}
VALUE_CHARS = 160


def file_line(change: FileChange) -> str:
    """A changed path with the numbers of added and removed lines."""
    lines = "binary" if change.is_binary else f"+{change.added_lines} -{change.removed_lines}"
    return f"{_SIGNS[change.kind]} {change.path}  {lines}"


def short(value: Any, chars: int = VALUE_CHARS) -> str:
    """A value as JSON on one line of at most `chars` characters."""
    text = json.dumps(thaw(value) if isinstance(value, Record | Vector) else value, ensure_ascii=False, default=str)
    return textwrap.shorten(text, chars, placeholder="…") if len(text) > chars else text
