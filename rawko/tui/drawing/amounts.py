"""Times, money, tokens and changed lines as short texts."""

from __future__ import annotations

from collections.abc import Sequence

from rawko.tui.drawing.cells import CellLine, Span
from rawko.vocabulary.snapshot import FileChange
from rawko.vocabulary.visible import visible_line


def clock(seconds: float) -> str:
    """Seconds as `7.3s`, `1:05`, `2:03:09`."""
    if seconds < 60:
        return f"{max(seconds, 0.0):.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def money(cost: float | None) -> str:
    """A cost as `$0.0123`; "" for None."""
    return "" if cost is None else f"${cost:.4f}"


def count(tokens: int) -> str:
    """Tokens as `950`, `12.3k`, `4.56M`."""
    if tokens < 1_000:
        return str(tokens)
    return f"{tokens / 1_000:.1f}k" if tokens < 1_000_000 else f"{tokens / 1_000_000:.2f}M"


def lines_changed(files: Sequence[FileChange]) -> list[Span]:
    """The added and removed lines of some files, as `+12 −3`."""
    added, removed = sum(one.added_lines for one in files), sum(one.removed_lines for one in files)
    found: list[Span] = [(f" +{added}", "added")] if added else []
    return found + ([(f" −{removed}", "removed")] if removed else [])


def file_line(change: FileChange) -> CellLine:
    sign, style = {"added": ("A", "added"), "deleted": ("D", "removed"), "modified": ("M", "event")}[change.kind]
    path = visible_line(change.path)
    counts: list[Span] = [("  binary", "dim")] if change.is_binary else lines_changed([change])
    return ((f"{sign} ", style), (path, ""), *counts)
