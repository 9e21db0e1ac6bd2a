"""Lines as wide as their terminal: wrapped at words; in a pipe or a file they stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO


def fitted(text: str, stream: TextIO, hang: int | None = None) -> str:
    """Painted lines for a stream. Nothing but spaces at the end of a line is left out.

    Args:
        hang: Cells by which what goes on of a line is moved in; by default two more than its beginning.
    """
    columns = _columns_of(stream)
    if columns is None:
        return text
    from rawko.cli.live.wrapping import wrapped

    return "\n".join(wrapped(line, columns, hang) for line in text.split("\n"))


def side_by_side(commands: Sequence[str], stream: TextIO) -> str:
    """Command lines in one line, or one a line where that is wider than the terminal."""
    line = " · ".join(commands)
    columns = _columns_of(stream)
    return line if columns is None or len(line) < columns else fitted("\n".join(commands), stream)


def _columns_of(stream: TextIO) -> int | None:
    if not stream.isatty():
        return None
    from rawko.cli.columns import width_of  # not at the top: what writes into a pipe does not load it

    return width_of(stream)
