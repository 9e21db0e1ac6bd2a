"""Tool calls, messages and other texts as one short line each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rawko.cutting import cut
from rawko.vocabulary.agent_path import TASK
from rawko.vocabulary.visible import visible, visible_line

WORDS_CHARS: Final = 300
"""Longest line, in characters; an interface cuts it further to its own width."""
_SHOWN_INPUTS: Final = (
    *("command", "file_path", "path", "pattern", "query", "url", "summary", "question", "reason", "name"),
)
"""Inputs of tools that describe a call best; the first of them that is present is shown."""
_CONTROL: Final = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
_SPACE: Final = re.compile("[ \t\n\r]+")
_READ_CHARS: Final = 4 * WORDS_CHARS
"""Characters of a text from which its line is made: a result may have megabytes."""


def line(text: object) -> str:
    """A text as one line: white space as single spaces, control characters made visible, cut.

    >>> line("one\\n  two\\x1b[31m")
    'one two\\\\x1b[31m'
    """
    words = _SPACE.sub(" ", str(text)[:_READ_CHARS]).strip(" ")
    return cut(visible_line(words), WORDS_CHARS, "…")


def call_words(call: Any) -> str:
    """A tool call in a line: its name, and the input that describes it best.

    >>> call_words({"name": "bash", "input": {"command": "python3 -m pytest -q"}})
    'bash python3 -m pytest -q'
    """
    name, given = str(at(call, "name") or "?"), at(call, "input")
    if not isinstance(given, Mapping) or not given:
        return line(name)
    if name == "update_plan":
        return line(f"plan: {_plan_words(given)}")
    if name == TASK:
        text = ": ".join(str(given[key]) for key in ("agent", "task") if given.get(key))
    elif name == "grep" and given.get("pattern"):
        text = " in ".join(str(given[key]) for key in ("pattern", "path") if given.get(key))
    else:
        text = next((str(given[key]) for key in _SHOWN_INPUTS if given.get(key)), "")
    return line(f"{name} {text or json.dumps(given, ensure_ascii=False, default=str)[:_READ_CHARS]}")


def _plan_words(given: Mapping[str, Any]) -> str:
    steps, updates = given.get("steps"), given.get("step_updates")
    if isinstance(steps, list | tuple) and steps:
        return f"{len(steps)} steps" if len(steps) > 1 else "1 step"
    if isinstance(updates, list | tuple) and updates:
        return ", ".join(f"step {at(one, 'index')} {at(one, 'status')}" for one in updates)
    return "unchanged"


def message_text(message: Any) -> str:
    """The text of a model's message, in one line; "" where it has only thinking and tool calls."""
    return line(" ".join(str(at(block, "text") or "") for block in blocks(message, "text")))


def blocks(message: Any, kind: str) -> Iterator[Mapping[str, Any]]:
    """The blocks of one kind in a message of the wire format."""
    content = at(message, "content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content if isinstance(content, list | tuple) else ():
        if isinstance(block, Mapping) and block.get("type") == kind:
            yield block


def result_line(result: Any) -> str:
    """The line of a tool's result that describes it best.

    For a command the last line, with the exit code if it failed; for a read-only tool the number of lines; else the
    first line.
    """
    content, code = str(at(result, "content") or ""), at(result, "exit_code")
    if at(result, "is_read_only") and not at(result, "is_error") and content:
        count = content.count("\n") + 1
        return f"{count} lines" if count > 1 else line(content)
    text = content[-_READ_CHARS:] if code is not None else content[:_READ_CHARS]
    lines = [one for one in text.split("\n") if one.strip()]
    lines = [one for one in lines if not (one.startswith("[") and one.endswith("]"))] or lines
    if code is None:
        return line(lines[0]) if lines else ""
    last = lines[-1] if lines else ""
    return line(f"exit {code}: {last}" if code else last)


def at(data: Any, *path: str) -> Any:
    """The value at a path of keys; None where a key is missing or a value on the way is no mapping."""
    for key in path:
        if not isinstance(data, Mapping):
            return None
        data = data.get(key)
    return data


def output_lines(tail: str) -> list[str]:
    """The lines of a command's output as a terminal shows them: without styles, each line as last overwritten."""
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in _CONTROL.sub("", tail).split("\n"))
    return [visible(line).replace("\t", "    ") for line in lines if line.strip()]
