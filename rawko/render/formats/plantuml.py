"""A diagram as PlantUML text. Special characters become `<U+XXXX>`: no name can be a tag, a link or a macro."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.render.formats.dot import hidden_text
from rawko.render.graph import Arrow, Box, Diagram, Entry
from rawko.render.placing.layout import Direction

_INDENT = "  "
_PLAIN = frozenset(" _.,()=/+?-")
"""Characters without a meaning when single; two equal ones in a row are Creole markup (`//`, `__`, `--`, `==`)."""

_DIRECTIONS: dict[Direction, str] = {"down": "top to bottom direction", "right": "left to right direction"}


def to_plantuml(diagram: Diagram, *, direction: Direction = "down") -> str:
    """PlantUML text, ending with a newline."""
    return "\n".join(_Writer(diagram).lines(direction)) + "\n"


def escaped(text: str) -> str:
    """Text for a label, on one line."""
    line = " ".join(text.split())
    return "".join(
        char
        if (char.isalnum() or char in _PLAIN) and not (char in _PLAIN and char == before)
        else f"<U+{ord(char):04X}>"
        for before, char in zip(" " + line, line, strict=False)
    )


def _entry(entry: Entry) -> str:
    parts = (
        escaped(entry.event),
        f"[{escaped(entry.guard)}]" if entry.guard else "",
        f"/ {escaped(entry.actions)}" if entry.actions else "",
    )
    return " ".join(part for part in parts if part)


class _Writer:
    def __init__(self, diagram: Diagram) -> None:
        self._diagram = diagram

    def lines(self, direction: Direction) -> Iterator[str]:
        yield "@startuml"
        yield _DIRECTIONS[direction]
        yield "hide empty description"
        yield f"title {escaped(self._diagram.name)}"
        yield from self._inside(None)
        for arrow in self._diagram.arrows:
            if arrow.kind != "initial":
                yield from self._arrow(arrow)
        yield "@enduml"

    def _inside(self, container: str | None) -> Iterator[str]:
        starts = {arrow.source: arrow for arrow in self._diagram.arrows if arrow.kind == "initial"}
        children = self._diagram.children.get(container, ())
        for place, box in enumerate(children):
            if box.is_region and place and children[place - 1].is_region:
                yield "--"
            if box.kind == "initial":
                yield from (line.replace(box.id, "[*]", 1) for line in self._arrow(starts[box.id]))
            else:
                yield from self._box(box)

    def _box(self, box: Box) -> Iterator[str]:
        look = "#line:0072B2;line.bold" if box.is_active else ""
        if box.kind in ("shallow history", "deep history"):
            yield f"state {box.id} <<{'history*' if box.kind == 'deep history' else 'history'}>>"
            return
        head = " ".join(part for part in (f'state "{escaped(box.head)}" as {box.id}', look) if part)
        if box.id in self._diagram.children:
            yield f"{head} {{"
            yield from (_INDENT + line for line in self._inside(box.id))
            yield "}"
        else:
            yield head
        yield from (f"{box.id} : {_entry(row)}" for row in box.rows)
        yield from (f"{box.id} : {escaped(line)}" for line in hidden_text(box))
        if box.kind == "final":
            yield f"{box.id} --> [*]"

    def _arrow(self, arrow: Arrow) -> Iterator[str]:
        look = [
            *(["dashed"] if arrow.is_error or arrow.kind == "default" else []),
            *(["#D55E00", "thickness=3"] if arrow.is_taken else []),
        ]
        line = f"-[{','.join(look)}]->" if look else "-->"
        label = "\\n".join(_entry(entry) for entry in arrow.entries)
        yield f"{arrow.source} {line} {arrow.target}" + (f" : {label}" if label else "")
