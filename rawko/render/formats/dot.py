"""A diagram as DOT text for Graphviz. All names and labels are quoted strings, and no name can end its string."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.render.graph import Arrow, Box, Diagram, Entry
from rawko.render.placing.layout import Direction
from rawko.render.placing.texts import visible

_INDENT = "  "
_RANKDIR: dict[Direction, str] = {"down": "TB", "right": "LR"}


def to_dot(diagram: Diagram, *, direction: Direction = "down") -> str:
    """DOT text, ending with a newline."""
    return "\n".join(_Writer(diagram).lines(direction)) + "\n"


def quoted(text: str) -> str:
    """A DOT string. In DOT, a backslash begins an escape and an ampersand begins an entity, so both are escaped."""
    escaped = visible(text.replace("\n", "\x00")).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def lines_quoted(lines: list[str]) -> str:
    """A DOT string of several lines."""
    return '"' + "\\n".join(quoted(line)[1:-1] for line in lines) + '"'


def entry_text(entry: Entry) -> str:
    """`EVENT [guard] / actions`."""
    parts = (entry.event, f"[{entry.guard}]" if entry.guard else "", f"/ {entry.actions}" if entry.actions else "")
    return " ".join(part for part in parts if part)


class _Writer:
    def __init__(self, diagram: Diagram) -> None:
        self._diagram = diagram

    def lines(self, direction: Direction) -> Iterator[str]:
        yield f"digraph {quoted(self._diagram.name)} {{"
        # Lines may end on the border of a cluster: Graphviz needs `compound` for that, and a node inside as target.
        yield f'{_INDENT}graph [compound=true, rankdir={_RANKDIR[direction]}, fontname="Helvetica"];'
        yield f'{_INDENT}node [shape=box, style=rounded, fontname="Helvetica"];'
        yield f'{_INDENT}edge [fontname="Helvetica", fontsize=10];'
        for box in self._diagram.children.get(None, ()):
            yield from (_INDENT + line for line in self._box(box))
        for arrow in self._diagram.arrows:
            yield _INDENT + self._arrow(arrow)
        yield "}"

    def _box(self, box: Box) -> Iterator[str]:
        inside = self._diagram.children.get(box.id)
        if inside is None:
            yield f"{box.id} [{self._look(box)}];"
            return
        yield f"subgraph cluster_{box.id} {{"
        style = "rounded,dashed" if box.is_region else "rounded"
        yield f'{_INDENT}label={_label(box)}; style="{style}"; penwidth={3 if box.is_active else 1};'
        yield f"{_INDENT}{box.id} [shape=point, style=invis, width=0, height=0];"
        for child in inside:
            yield from (_INDENT + line for line in self._box(child))
        yield "}"

    def _look(self, box: Box) -> str:
        if box.kind == "initial":
            return 'shape=point, width=0.15, label=""'
        if box.kind in ("shallow history", "deep history"):
            return f'shape=circle, style=solid, label="{"H*" if box.kind == "deep history" else "H"}"'
        look = f"label={_label(box)}"
        if box.kind == "final":
            look += ", peripheries=2"
        if box.is_region:
            look += ', style="rounded,dashed"'
        return look + (", penwidth=3" if box.is_active else "")

    def _arrow(self, arrow: Arrow) -> str:
        look = [f"label={lines_quoted([entry_text(entry) for entry in arrow.entries])}"] if arrow.entries else []
        look += ["style=dashed"] if arrow.is_error or arrow.kind == "default" else []
        look += ["penwidth=3"] if arrow.is_taken else []
        if arrow.source in self._diagram.children:
            look.append(f"ltail=cluster_{arrow.source}")
        if arrow.target in self._diagram.children:
            look.append(f"lhead=cluster_{arrow.target}")
        return f"{arrow.source} -> {arrow.target}" + (f" [{', '.join(look)}]" if look else "") + ";"


def _label(box: Box) -> str:
    return lines_quoted([box.head, *(entry_text(row) for row in box.rows), *hidden_text(box)])


def hidden_text(box: Box) -> list[str]:
    """The line that counts the states that are not drawn; empty if all are drawn."""
    return [f"+ {box.hidden} states inside"] if box.hidden else []
