r"""The redrawn lines at the bottom of the terminal, below the output that stays in the scrollback.

    \x1b[?2026h  begin a synchronized update: the terminal shows no partial drawing
    \r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K  erase the three lines drawn before, the lowest first
    line line line
    \x1b[?2026l  show it

A footer writes only between these two marks; all other output stays in the scrollback. The cursor is never hidden,
since a process that is killed or stopped could not show it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final, TextIO

BEGIN: Final = "\x1b[?2026h"
END: Final = "\x1b[?2026l"
LEAST_COLUMNS: Final = 10


def terminal_size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines of the terminal of a stream; 80 × 24 where they are unknown."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return (max(size.columns, LEAST_COLUMNS), max(size.lines, 4)) if size.columns else (80, 24)


class Footer:
    """A block of lines that is replaced as a whole.

    Args:
        stream: The terminal.
        cells: Returns the number of columns of a line.
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
        """Replace the lines, each narrower than the terminal. Unchanged lines are not written again."""
        if tuple(lines) == self._drawn:
            return
        erase = self._erase(columns)
        self._drawn, self._widths = tuple(lines), tuple(map(self._cells, lines))
        self._stream.write(f"{BEGIN}{erase}" + "\n".join(lines) + END)
        self._stream.flush()

    def clear(self, columns: int) -> None:
        """Erase the lines; the cursor moves to the beginning of the first one."""
        if self._drawn:
            erase = self._erase(columns)
            self._drawn = self._widths = ()
            self._stream.write(f"{BEGIN}{erase}{END}")
            self._stream.flush()

    def _erase(self, columns: int) -> str:
        """The sequence that erases each line, up to the first. A terminal that became narrower has wrapped long lines.

        Erasing to the end of the screen is no alternative: tmux adds text erased from the top of the screen to its
        history.
        """
        if not self._drawn:
            return ""
        rows = sum(max(1, -(-width // columns)) for width in self._widths)
        return "\r\x1b[K" + "\x1b[A\x1b[K" * (rows - 1)
