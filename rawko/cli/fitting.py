"""Wraps lines at words to the width of a terminal; in a pipe or a file they are unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO


def fitted(text: str, stream: TextIO, hang: int | None = None) -> str:
    """Painted lines, wrapped for a stream; only spaces at line ends are removed.

    Args:
        hang: Cells by which continuation lines are indented; by default two more than the line's own indentation.
    """
    columns = _columns_of(stream)
    if columns is None:
        return text
    from rawko.cli.live.wrapping import wrapped

    return "\n".join(wrapped(line, columns, hang) for line in text.split("\n"))


def side_by_side(commands: Sequence[str], stream: TextIO) -> str:
    """Command lines joined in one line, or one per line where that would be wider than the terminal."""
    line = " · ".join(commands)
    columns = _columns_of(stream)
    return line if columns is None or len(line) < columns else fitted("\n".join(commands), stream)


def _columns_of(stream: TextIO) -> int | None:
    if not stream.isatty():
        return None
    from rawko.cli.columns import width_of  # not at the top: what writes into a pipe does not load it

    return width_of(stream)
