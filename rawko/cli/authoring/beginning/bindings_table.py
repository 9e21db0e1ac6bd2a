"""Adds a line to the table of pyproject.toml that names the bindings of charts, leaving all other text unchanged."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from rawko.runtime.bindings_lookup import TABLE

_HEADER: Final = re.compile(
    r"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*rawko[ \t]*\.[ \t]*bindings[ \t]*\][^\n]*\n?", re.MULTILINE
)


def with_bindings(text: str, chart: str, module: str) -> str | None:
    """The text of a pyproject.toml with a line for a chart; None where only a person can add the line safely.

    with_bindings('[project]\\nname = "x"\\n', "door.yaml", "door")
    == '[project]\\nname = "x"\\n\\n[tool.rawko.bindings]\\n"door.yaml" = "door"\\n'

    Args:
        text: The text of the file; "" where the file does not exist.
        chart: Path of the chart, relative to the folder of the file.
    """
    try:
        before = tomllib.loads(text)
        wanted = _wanted(before, chart, module)
    except (tomllib.TOMLDecodeError, TypeError, AttributeError):
        return None
    if wanted == before:
        return text
    line = f'"{chart}" = "{module}"\n'
    header = _HEADER.search(text)
    if header is not None:
        begin = header.group() if header.group().endswith("\n") else f"{header.group()}\n"
        new = f"{text[: header.start()]}{begin}{line}{text[header.end() :]}"
    else:
        space = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        new = f"{text}{space}{TABLE}\n{line}"
    try:
        return new if tomllib.loads(new) == wanted else None
    except tomllib.TOMLDecodeError:
        return None  # for example, the table exists in inline form


def _wanted(document: dict[str, Any], chart: str, module: str) -> dict[str, Any]:
    """The parsed document with the chart's entry added, and nothing else changed."""
    tool = document.get("tool", {})
    rawko = tool.get("rawko", {})
    bindings = rawko.get("bindings", {})
    return {**document, "tool": {**tool, "rawko": {**rawko, "bindings": {**bindings, chart: module}}}}
