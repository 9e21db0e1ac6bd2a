"""A list widget whose items have one or more lines; it draws only the visible items.

An update costs as much as its new items. Unfolding costs as much as the open items, in a list whose closed items have
one line each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, Generic, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rawko.tui.drawing.cells import BACKGROUND, CellLine, strip_of
from rawko.tui.widgets.places import Places

Item = TypeVar("Item")
CURSOR: Final = "#2a3342"
CURSOR_WITHOUT_FOCUS: Final = "#20252e"
MAX_DRAWN: Final = 400
"""The most items whose drawn lines are cached."""


class Lines(ScrollView, Generic[Item], can_focus=True):
    """A list with a cursor, whose items unfold.

    Args:
        draw: The lines of an item, at least one: (item, width, is_open).
        is_flat: Whether closed items have one line each, so that they are placed without being drawn.
        empty: Shown while there are no items.
        follows: Whether the cursor moves to new items while it is at the last one.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("home", "first", show=False),
        Binding("end", "last", show=False),
        Binding("enter,right", "unfold", show=False),
        Binding("left", "fold", show=False),
    ]

    class Unfolded(Message):
        """An item was opened; its content may have to be read first."""

        def __init__(self, lines: Lines[object], index: int) -> None:
            super().__init__()
            self.lines = lines
            self.index = index

    class Moved(Message):
        """A person has moved the cursor."""

        def __init__(self, lines: Lines[object]) -> None:
            super().__init__()
            self.lines = lines

    class AtTop(Message):
        """A person moved up beyond the first item, or pressed Home (`is_home`).

        Attributes:
            was_there: Whether the cursor was at the first item before.
        """

        def __init__(self, lines: Lines[object], *, is_home: bool = False, was_there: bool = True) -> None:
            super().__init__()
            self.lines = lines
            self.is_home = is_home
            self.was_there = was_there

    def __init__(
        self,
        draw: Callable[[Item, int, bool], Sequence[CellLine]],
        *,
        id: str,
        is_flat: bool = True,
        empty: str = "",
        follows: bool = True,
    ) -> None:
        super().__init__(id=id)
        self._draw = draw
        self._is_flat = is_flat
        self._empty = empty
        self.follows = follows
        self.items: list[Item] = []
        self.opened: set[int] = set()
        self.cursor = 0
        self._places = Places()
        self._width = 0
        self._is_outdated = False
        self._drawn: dict[int, Sequence[CellLine]] = {}

    # ------------------------------------------------------------ items

    @property
    def is_at_end(self) -> bool:
        """Whether the cursor is at the last item, where it stays when items are added."""
        return self.cursor >= len(self.items) - 1

    @property
    def current(self) -> Item | None:
        return self.items[self.cursor] if self.items else None

    def append(self, items: Sequence[Item]) -> None:
        """Add items at the end."""
        if not items:
            return
        was_last = self.cursor >= len(self.items) - 1
        start = len(self.items)
        self.items.extend(items)
        self._place(start)
        if self.follows and was_last:
            self.cursor = len(self.items) - 1
            self._show_end()
        self.refresh()

    def put(self, index: int, item: Item) -> None:
        """Replace one item."""
        self.items[index] = item
        self._drawn.pop(index, None)
        if self._lines_of(index) != self._places.lines(index):
            self._place(index)
            if self.follows and self.cursor >= len(self.items) - 1:
                self._show_end()
        self.refresh()

    def reset(self, items: Sequence[Item], *, cursor: int | None = None, opened: set[int] | None = None) -> None:
        """Replace all items; the cursor keeps its index, or goes to the end where it follows the end."""
        was_last = self.cursor >= len(self.items) - 1
        self.items = list(items)
        self.opened = opened or set()
        self._drawn.clear()
        last = max(len(self.items) - 1, 0)
        self.cursor = min(self.cursor, last) if cursor is None else min(cursor, last)
        self._place(0)
        if cursor is not None:
            self._show_cursor()
        elif self.follows and was_last:
            self.cursor = last
            self._show_end()
        self.refresh()

    def redraw(self, index: int | None = None) -> None:
        """Draw an item again, or all items: their content has changed, but not the list."""
        if index is None:
            self._drawn.clear()
            self._place(0)
        elif index < len(self.items):
            self.put(index, self.items[index])
        self.refresh()

    def repaint(self) -> None:
        """Draw the visible items again: their content has changed, but not their number of lines."""
        self._drawn.clear()
        self.refresh()

    def go_to(self, index: int) -> None:
        """Move the cursor."""
        if self.items:
            self.cursor = min(max(index, 0), len(self.items) - 1)
            self._show_cursor()
            self.refresh()
            self.post_message(self.Moved(self))  # type: ignore[arg-type]  # any list

    # ------------------------------------------------------------ places

    def _lines_of(self, index: int) -> int:
        if not self._width or (self._is_flat and index not in self.opened):
            return 1  # not on the screen yet; placed again once it has a width
        return len(self._lines(index))

    def _lines(self, index: int) -> Sequence[CellLine]:
        found = self._drawn.get(index)
        if found is None:
            found = self._draw(self.items[index], max(self._width, 1), index in self.opened) or (((" ", ""),),)
            while len(self._drawn) >= MAX_DRAWN:
                del self._drawn[next(iter(self._drawn))]
            self._drawn[index] = found
        return found

    def _place(self, start: int) -> None:
        """Place the items from `start` on."""
        for index in [index for index in self._drawn if index >= start]:
            del self._drawn[index]
        count = len(self.items)
        if self._is_flat:
            higher: Iterable[int] = sorted(index for index in self.opened if start <= index < count)
        else:
            higher = range(start, count)
        self._places.place(start, count, ((index, self._lines_of(index)) for index in higher))
        self.virtual_size = Size(self._width, max(self._places.height, 1))

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    def _fit(self) -> None:
        """Place the items for the present width; the cursor's item stays visible."""
        width = self.scrollable_content_region.width
        if width != self._width or self._is_outdated:
            self._width, self._is_outdated = width, False
            self._drawn.clear()
            self._place(0)
        if self.follows and self.is_at_end:
            self._show_end()
        else:
            self._show_cursor()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if width != self._width:
            self._width, self._is_outdated = width, True
            self._drawn.clear()
            self.call_later(self._fit)
        line = y + self.scroll_offset.y
        if not self.items:
            return strip_of(((self._empty if y == 0 else "", "dim"),), width)
        if line >= self._places.height:
            return strip_of((), width)
        index = self._places.at(line)
        lines, at = self._lines(index), line - self._places.top(index)
        background = BACKGROUND
        if index == self.cursor:
            background = CURSOR if self.has_focus else CURSOR_WITHOUT_FOCUS
        return strip_of(lines[at] if at < len(lines) else (), width, background)

    # ------------------------------------------------------------ scrolling

    @property
    def _page(self) -> int:
        return max(self.scrollable_content_region.height, 1)

    def _show_end(self) -> None:
        self.scroll_to(y=max(self._places.height - self._page, 0), animate=False, immediate=True, force=True)

    def _show_cursor(self) -> None:
        if not self.items:
            return
        top = self._places.top(self.cursor)
        height = min(self._lines_of(self.cursor), self._page)
        self.scroll_to_region(Region(0, top, 1, height), animate=False, immediate=True, force=True)

    def action_move(self, by: int, *, is_whole: bool = False) -> None:
        """Scroll within an item that is higher than the page, else move to the next item; `is_whole`: always move."""
        if not self.items:
            return
        if is_whole:
            if self.cursor + by < 0:
                self.post_message(self.AtTop(self))  # type: ignore[arg-type]  # any list
            self.go_to(self.cursor + by)
            return
        top = self._places.top(self.cursor)
        bottom = top + self._lines_of(self.cursor)
        seen, page = self.scroll_offset.y, self._page
        if by > 0 and bottom > seen + page and top <= seen + page:
            self.scroll_to(y=seen + 2, animate=False, immediate=True, force=True)
        elif by < 0 and top < seen:
            self.scroll_to(y=max(seen - 2, 0), animate=False, immediate=True, force=True)
        else:
            if self.cursor + by < 0:
                self.post_message(self.AtTop(self))  # type: ignore[arg-type]  # any list
            self.go_to(self.cursor + by)
        self.refresh()

    def action_page(self, by: int) -> None:
        if not self.items:
            return
        target = self._places.top(self.cursor) + by * self._page
        if by < 0 and self.cursor == 0:
            self.post_message(self.AtTop(self))  # type: ignore[arg-type]
        self.go_to(self._places.at(max(target, 0)))

    def action_first(self) -> None:
        was_there = self.cursor == 0
        self.go_to(0)
        self.post_message(self.AtTop(self, is_home=True, was_there=was_there))  # type: ignore[arg-type]

    def action_last(self) -> None:
        self.go_to(len(self.items) - 1)
        self._show_end()

    # ------------------------------------------------------------ folding

    def action_unfold(self) -> None:
        if not self.items:
            return
        if self.cursor in self.opened:
            self.action_fold()
            return
        self.opened.add(self.cursor)
        self.post_message(self.Unfolded(self, self.cursor))  # type: ignore[arg-type]
        self._place(self.cursor)
        self._show_cursor()
        self.refresh()

    def action_fold(self) -> None:
        if self.cursor in self.opened:
            self.opened.discard(self.cursor)
            self._place(self.cursor)
            self._show_cursor()
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        line = event.y + self.scroll_offset.y
        if self.items and line < self._places.height:
            index = self._places.at(line)
            if index == self.cursor:
                self.action_unfold()
            else:
                self.go_to(index)
