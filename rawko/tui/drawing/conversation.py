"""Draws entries of the conversation: texts in full, prompts and tool calls folded until they are opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rawko.app.views.conversation import Entry, Excerpt
from rawko.app.views.words import line as one_line
from rawko.tui.drawing.cells import CellLine, Span, block, fitted, wrapped
from rawko.vocabulary.visible import visible, visible_line


def draw_entry(entry: Entry, width: int, is_open: bool) -> Sequence[CellLine]:
    match entry.kind:
        case "text":
            return [*_heading(entry, "agent"), *_markdown(entry.text, width), ((" ", ""),)]
        case "call":
            return _call(entry, width, is_open)
        case "note":
            return [((f"  ── {entry.text.head} ──", "dim"),)]
        case kind:
            name = {"user": "prompt", "thinking": "thinking"}[kind]
            if is_open:
                return [((f"▾ {name}", "dim"),), *_excerpt(entry.text, width, "dim")]
            return [((f"▸ {name}  ", "dim"), (fitted(one_line(entry.text.head), width - len(name) - 4), "faint"))]


def _heading(entry: Entry, style: str) -> list[CellLine]:
    return [((visible_line(entry.agent) or "agent", style), (f"  @{entry.row}", "faint"))]


def _markdown(text: Excerpt, width: int) -> Iterator[CellLine]:
    """A model's text, with headings and code highlighted; no other markup is interpreted."""
    is_code = False
    for source in _whole(text).split("\n"):
        is_fence = source.lstrip().startswith("```")
        is_code ^= is_fence
        style = "faint" if is_fence else "code" if is_code else "strong" if source.startswith("#") else ""
        yield from block(wrapped(source, width - 2), style, indent=2)


def _call(entry: Entry, width: int, is_open: bool) -> Sequence[CellLine]:
    mark, style = ("…", "warning") if entry.result is None else ("✗", "error") if entry.is_error else ("✓", "ok")
    call = entry.call or {}
    given = call.get("input") if isinstance(call.get("input"), Mapping) else {}
    words = _call_words(given)
    head: list[Span] = [("▾ " if is_open else "▸ ", "tool"), (f"{mark} ", style), (visible_line(entry.name), "tool")]
    used = sum(len(text) for text, _ in head)
    head.append((f" {fitted(words, max(width - used - 1, 0))}", "dim"))
    lines: list[CellLine] = [tuple(head)]
    if is_open:
        lines += _excerpt(entry.text, width, "code")
        if entry.result is not None:
            lines.append(((f"  result  {entry.result.chars:,} characters", "dim"),))
            lines += _excerpt(entry.result, width, "error" if entry.is_error else "")
            if entry.result.left_out > 0:
                lines.append(
                    ((f"  whole: rawko show RUN@{entry.row} --output {visible_line(entry.call_id)}", "faint"),)
                )
    return lines


def _call_words(given: Any) -> str:
    for name in ("command", "file_path", "pattern", "path", "summary", "question", "reason"):
        if given.get(name):
            return one_line(given[name])
    return one_line(given) if given else ""


def _excerpt(text: Excerpt, width: int, style: str) -> Iterator[CellLine]:
    yield from block(wrapped(_whole(text), width - 2), style, indent=2)


def _whole(text: Excerpt) -> str:
    if text.left_out <= 0:
        return visible(text.head)
    return f"{visible(text.head)}\n… {text.left_out:,} characters …\n{visible(text.tail)}"
