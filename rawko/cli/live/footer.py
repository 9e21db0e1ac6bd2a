r"""The lines at the bottom of the terminal that are drawn again and again, below all that stays in the scrollback.

    \x1b[?2026h  begin a synchronized update: the terminal shows nothing half drawn
    \r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K  erase the three lines of the last time, the lowest first
    line line line
    \x1b[?2026l  show it

All that a footer writes stands between the two marks, so that what is outside of them is exactly what stays. The cursor
is never hidden: a process that is killed or stopped could not show it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final, TextIO

BEGIN: Final = "\x1b[?2026h"
END: Final = "\x1b[?2026l"
LEAST_COLUMNS: Final = 10


def terminal_size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines of the terminal of a stream; 80 × 24 where it does not say."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return (max(size.columns, LEAST_COLUMNS), max(size.lines, 4)) if size.columns else (80, 24)


class Footer:
    """Lines that are replaced as a whole.

    Args:
        stream: The terminal.
        cells: How many columns a line takes.
    """

    def __init__(self, stream: TextIO, cells: Callable[[str], int]) -> None:
        self._stream = stream
        self._cells = cells
        self._widths: tuple[int, ...] = ()
        self._drawn: tuple[str, ...] = ()

    @property
    def is_drawn(self) -> bool:
        return bool(self._drawn)

    def draw(self, lines: Sequence[str], columns: int) -> None:
        """Replace the lines; each must be narrower than the terminal. Nothing is written where nothing changed."""
        if tuple(lines) == self._drawn:
            return
        erase = self._erase(columns)
        self._drawn, self._widths = tuple(lines), tuple(map(self._cells, lines))
        self._stream.write(f"{BEGIN}{erase}" + "\n".join(lines) + END)
        self._stream.flush()

    def clear(self, columns: int) -> None:
        """Remove the lines; the cursor stands at the beginning of the first one."""
        if self._drawn:
            erase = self._erase(columns)
            self._drawn = self._widths = ()
            self._stream.write(f"{BEGIN}{erase}{END}")
            self._stream.flush()

    def _erase(self, columns: int) -> str:
        """Erase line by line, up to the first. A terminal that became narrower has wrapped long lines.

        Not "erase to the end of the screen": tmux keeps in its history what is erased from the top of the screen on.
        """
        if not self._drawn:
            return ""
        rows = sum(max(1, -(-width // columns)) for width in self._widths)
        return "\r\x1b[K" + "\x1b[A\x1b[K" * (rows - 1)
