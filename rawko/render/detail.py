"""Reduces the text of each transition in a drawing: event alone, event and guard, or actions as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from rawko.render.graph import Diagram, Entry

Detail = Literal["overview", "guards", "all"]
DETAILS: tuple[Detail, ...] = ("overview", "guards", "all")


def with_detail(diagram: Diagram, detail: Detail) -> Diagram:
    """The same diagram with less text; tooltips stay complete. For drawings with labels on their lines."""
    if detail == "all":
        return diagram
    boxes = tuple(replace(box, rows=tuple(_shorter(box.rows, detail))) for box in diagram.boxes)
    arrows = tuple(replace(arrow, entries=tuple(_shorter(arrow.entries, detail))) for arrow in diagram.arrows)
    return replace(diagram, boxes=boxes, arrows=arrows)


def _shorter(entries: Sequence[Entry], detail: Detail) -> Iterator[Entry]:
    # In an overview, the text of a repeated event stays empty; its index stays, so that it can still be highlighted.
    seen: set[str] = set()
    for entry in entries:
        if detail == "guards":
            yield replace(entry, actions="")
        elif entry.transition is not None and entry.event not in seen:
            seen.add(entry.event)
            yield replace(entry, guard="", actions="")
