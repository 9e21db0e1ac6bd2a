"""The table of pyproject.toml that names the bindings of a project's charts: one line more, and all else as it was."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from rawko.runtime.bindings_lookup import TABLE

_HEADER: Final = re.compile(
    r"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*rawko[ \t]*\.[ \t]*bindings[ \t]*\][^\n]*\n?", re.MULTILINE
)


def with_bindings(text: str, chart: str, module: str) -> str | None:
    """The text of a pyproject.toml with a line for a chart, or None where a person has to add the line.

    with_bindings('[project]\\nname = "x"\\n', "door.yaml", "door")
    == '[project]\\nname = "x"\\n\\n[tool.rawko.bindings]\\n"door.yaml" = "door"\\n'

    Args:
        text: "" where there is no such file.
        chart: Path of the chart, seen from the file's folder.
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
        return None  # the table is written in another way


def _wanted(document: dict[str, Any], chart: str, module: str) -> dict[str, Any]:
    """The document with the line, and nothing else changed."""
    tool = document.get("tool", {})
    rawko = tool.get("rawko", {})
    bindings = rawko.get("bindings", {})
    return {**document, "tool": {**tool, "rawko": {**rawko, "bindings": {**bindings, chart: module}}}}
