"""The first line of each item in a list where most items have one line.

    items    a  b(3 lines)  c  d        tops  0 1 4 5
    Only b is stored: it has 2 lines more than one. The top of d is its index, 3, and the 2 lines more before it.
    Line 2 belongs to b: b begins at line 1 and ends before line 4.

Memory and time depend only on the items with more than one line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable


class Places:
    """The places of the items of one list."""

    def __init__(self) -> None:
        self._count = 0
        self._items: list[int] = []
        self._tops: list[int] = []
        self._more: list[int] = [0]

    @property
    def height(self) -> int:
        """Lines of all items together."""
        return self._count + self._more[-1]

    def place(self, start: int, count: int, heights: Iterable[tuple[int, int]]) -> None:
        """Place the items from `start` on.

        Args:
            count: The number of all items.
            heights: Index and number of lines of items from `start` on, in order; items not listed have one line.
        """
        kept = bisect_left(self._items, start)
        del self._items[kept:], self._tops[kept:], self._more[kept + 1 :]
        self._count = count
        for index, height in heights:
            if height > 1:
                self._items.append(index)
                self._tops.append(index + self._more[-1])
                self._more.append(self._more[-1] + height - 1)

    def top(self, index: int) -> int:
        """The first line of an item."""
        return index + self._more[bisect_left(self._items, index)]

    def lines(self, index: int) -> int:
        """The number of lines of an item."""
        at = bisect_left(self._items, index)
        is_higher = at < len(self._items) and self._items[at] == index
        return 1 + (self._more[at + 1] - self._more[at] if is_higher else 0)

    def at(self, line: int) -> int:
        """The item that a line belongs to; the last item for a line past the end."""
        before = bisect_right(self._tops, line)
        if before:
            higher = self._items[before - 1]
            if line < self._tops[before - 1] + self.lines(higher):
                return higher
        return min(max(line - self._more[before], 0), max(self._count - 1, 0))
