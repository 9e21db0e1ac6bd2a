"""Finds whole texts of a run by their ids, in the contexts of its machines: agents' reports, results of tools.

`iteration-3` is the report of the agent of iteration 3; a tool's result has the id of its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Contexts = Iterable[Mapping[str, Any]]
"""The contexts of all machines of a run, the root first."""


def find_text(contexts: Contexts, id: str) -> str | None:
    """The whole text with this id; the latest if several have it. None if there is none."""
    found = None
    for known, text in texts_of(contexts):
        if known == id:
            found = text
    return found


def text_ids(contexts: Contexts) -> list[str]:
    """The ids of all texts, oldest first, without repetition."""
    return list(dict.fromkeys(id for id, _ in texts_of(contexts)))


def texts_of(contexts: Contexts) -> Iterator[tuple[str, str]]:
    """Each text with its id, oldest first."""
    for context in contexts:
        for entry in context.get("history") or ():
            if entry.get("output") is not None:
                yield f"iteration-{entry['iteration']}", str(entry["output"])
        for message in context.get("messages") or ():
            yield from _results(message.get("message", message))
        for entry in context.get("tool_history") or ():
            yield str(entry["result"]["call_id"]), str(entry["result"]["content"])


def _results(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for block in message.get("content") or ():
        if isinstance(block, Mapping) and block.get("type") == "tool_result" and isinstance(block.get("content"), str):
            yield str(block["tool_use_id"]), str(block["content"])
