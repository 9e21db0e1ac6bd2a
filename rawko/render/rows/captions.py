"""A text above a drawing: a title, a sentence, numbered lines, and what the colours mean; placed, in pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from rawko.render.placing.measure import text_width, wrapped
from rawko.render.placing.scene import PlacedRun
from rawko.render.placing.texts import SIZES, Run, Style, visible

MARGIN: Final = 16.0
WIDEST: Final = 860.0
"""Pixels to which a caption makes a narrow drawing wider; longer lines are broken."""
MOST_LINES: Final = 40
CIRCLED: Final = 10
"""Circled numbers that the fonts have."""
MAX_NUMBERS: Final = 4


@dataclass(frozen=True, slots=True)
class Caption:
    """What stands above a drawing.

    Attributes:
        lines: The first `MOST_LINES` of them are written.
        note: Small, at the end.
    """

    title: str
    text: str = ""
    lines: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlacedCaption:
    """A caption with its room; its upper left corner is (0, 0)."""

    runs: tuple[PlacedRun, ...] = ()
    width: float = 0.0
    height: float = 0.0


NO_CAPTION: Final = PlacedCaption()


def numbered(numbers: Sequence[int], text: str) -> str:
    """A text behind the numbers of steps: `①③ OPEN`, `⑩(11) OPEN`; of many the first ones and `…`."""
    told = "".join(chr(0x245F + number) if number <= CIRCLED else f"({number})" for number in numbers[:MAX_NUMBERS])
    more = "…" if len(numbers) > MAX_NUMBERS else ""
    return f"{told}{more} {text}".strip()


def place_caption(caption: Caption | None, width: float) -> PlacedCaption:
    """A caption above a drawing of that width; it may be wider."""
    if caption is None:
        return NO_CAPTION
    placing = _Placing()
    parts = [(text, style) for text, style in _parts(caption) if text]
    longest = max(text_width(text, SIZES[style], bold=style == "title") for text, style in parts)
    room = max(width - 2 * MARGIN, min(longest, WIDEST))
    for text, style in parts:
        placing.add(text, style, room)
    return PlacedCaption(tuple(placing.runs), room + 2 * MARGIN, placing.y + 4)


def _parts(caption: Caption) -> Iterator[tuple[str, Style]]:
    yield visible(caption.title), "title"
    yield visible(caption.text), "row"
    for line in caption.lines[:MOST_LINES]:
        yield visible(line), "event"
    if (left := len(caption.lines) - MOST_LINES) > 0:
        yield f"… and {left} more", "event"
    yield visible(caption.note), "kind"


@dataclass
class _Placing:
    """Lines under each other; a part of another style stands a little lower."""

    y: float = MARGIN
    runs: list[PlacedRun] = field(default_factory=list)
    style: Style = "title"

    def add(self, text: str, style: Style, room: float) -> None:
        self.y += 0 if style == self.style else 5
        self.style = style
        # A bold line is wider than it is measured for breaking: a little less room keeps it inside.
        room -= 0.1 * room if style == "title" else 0
        for line in wrapped(text, SIZES[style], room, lines=6):
            self.y += round(SIZES[style] * 1.4, 1)
            self.runs.append(PlacedRun(Run(line, style), MARGIN, self.y))
