"""Writes a tree as YAML: two columns per level, at most one blank line, brackets only if they fit on one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rawko.chart.formatting.scalars import block_lines, folded, inline
from rawko.chart.formatting.tree import Alias, Collection, Entry, Scalar, SourceTree, Value, taken_above

WIDTH = 120
"""The most characters of a list or mapping on one line, and of a line of folded text with its indentation."""
_STEP = "  "


def lines_of(tree: SourceTree) -> Iterator[str]:
    """The lines of a document, without line breaks."""
    if tree.above is not None:
        yield from _stripped(tree.above)
        yield "---"
    yield from _block(tree.root, "") if isinstance(tree.root, Collection) else [_one_line(tree.root)]
    yield from _comments(_until_text(tree.below), "")


def _block(value: Collection, indent: str) -> Iterator[str]:
    """A collection with one entry per line, each at this indentation."""
    for number, entry in enumerate(value.entries):
        above = entry.above if number else _stripped(entry.above, end=False)
        yield from _comments(above, indent)
        yield from _entry(entry, indent)
    yield from _comments(_until_text(value.below), indent)


def _entry(entry: Entry, indent: str) -> Iterator[str]:
    beside = f"  {entry.beside}" if entry.beside else ""
    head = f"{indent}-" if entry.key is None else f"{indent}{_key(entry.key)}:"
    value = entry.value
    if isinstance(value, Scalar) and (block := _text_block(value, indent, len(head))) is not None:
        header, lines = block
        yield f"{head} {header}{beside}"
        yield from (f"{indent}{_STEP}{line}" if line else "" for line in lines)
    elif isinstance(value, Collection) and (line := on_one_line(value)) is None:
        marks = f" {value.marks}" if value.marks else ""
        if entry.key is None:  # sorting may have put another entry first
            yield from _comments(taken_above(value), indent)
        inner = list(_block(value, indent + _STEP))
        if entry.key is None and not (marks or beside):
            yield f"{head} {inner[0][len(indent + _STEP) :]}"  # the mapping's first key is on the line of the dash
            yield from inner[1:]
        else:
            yield f"{head}{marks}{beside}"
            yield from inner
    else:
        text = line if isinstance(value, Collection) else _one_line(value)
        yield f"{head} {text}{beside}".rstrip() if text else f"{head}{beside}"


def _key(key: Scalar | Alias) -> str:
    return f"*{key.name} " if isinstance(key, Alias) else inline(key, in_flow=False)


def _one_line(value: Scalar | Alias, *, in_flow: bool = False) -> str:
    return f"*{value.name}" if isinstance(value, Alias) else inline(value, in_flow=in_flow)


def on_one_line(value: Collection) -> str | None:
    """A collection between brackets; None if it needs a line per entry: it was written so, is too long, or contains
    comments or a block."""
    if value.entries and (not value.is_flow or value.has_comments):
        return None
    parts: list[str] = []
    for entry in value.entries:
        part = _flow_part(entry.value)
        if part is None:
            return None
        if entry.key is not None:
            key = f"*{entry.key.name} " if isinstance(entry.key, Alias) else inline(entry.key, in_flow=True)
            part = f"{key}: {part}" if part else f"{key}:"
        parts.append(part)
    text = ", ".join(parts)
    text = f"{{{text}}}" if value.is_mapping else f"[{text}]"
    text = f"{value.marks} {text}" if value.marks else text
    return text if len(text) <= WIDTH or not value.entries else None


def _flow_part(value: Value) -> str | None:
    if isinstance(value, Collection):
        return on_one_line(value)
    if isinstance(value, Scalar) and value.is_block:
        return None
    return _one_line(value, in_flow=True)


def _text_block(scalar: Scalar, indent: str, taken: int) -> tuple[str, Sequence[str]] | None:
    """Header and lines of a text that is a block, or is too long for its line; None for other texts."""
    marks = f"{scalar.marks} " if scalar.marks else ""
    if scalar.is_block:
        lines = block_lines(scalar)
        return None if lines is None else (f"{marks}{scalar.style}{scalar.header}", lines)
    is_long = len(scalar.source) > 1 or taken + 1 + len(scalar.source[0]) > WIDTH
    if not is_long or (scalar.style is None and len(scalar.source) == 1 and " " not in scalar.text):
        return None
    lines = folded(scalar.text, WIDTH - len(indent) - len(_STEP))
    return None if lines is None or len(lines) < 2 else (f"{marks}>-", lines)


def _comments(lines: Sequence[str], indent: str) -> Iterator[str]:
    return (f"{indent}{line}" if line else "" for line in lines)


def _stripped(lines: Sequence[str], *, end: bool = True) -> list[str]:
    """The lines without blank lines at the beginning and, if `end`, at the end."""
    found = list(lines)
    while found and not found[0]:
        found.pop(0)
    return _until_text(found) if end else found


def _until_text(lines: Sequence[str]) -> list[str]:
    """The lines without blank lines at the end."""
    found = list(lines)
    while found and not found[-1]:
        found.pop()
    return found
