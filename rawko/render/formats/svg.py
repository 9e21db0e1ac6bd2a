"""A placed diagram as SVG text. Equal scenes give equal texts, and no name in a scene can add markup.

A page can follow a run without a library: it sets the class `active` on `[data-state="..."]` and `taken` on
`.t<n>`, where n is `Transition.index`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from rawko.render.formats.themes import Theme, plain_style_sheet, style_sheet
from rawko.render.graph import Arrow, Box
from rawko.render.placing.layout import Point, Rect
from rawko.render.placing.scene import PlacedArrow, PlacedBox, PlacedText, Scene
from rawko.render.placing.texts import visible

SCOPE = "rawko-chart"
CORNER = 7.0
ARROW = (9.0, 4.5)
"""Length and half width of an arrow's head."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def to_svg(scene: Scene, *, theme: Theme = "light", has_variables: bool = True, prefix: str = "") -> str:
    """SVG text, ending with a newline.

    Args:
        theme: `auto` follows the reader's colour setting.
        has_variables: Write colours as CSS variables; without them, programs other than browsers see the colours, too.
        prefix: Prefix of every id, for a page with several drawings.
    """
    return "\n".join(_Writer(scene, prefix).lines(theme, has_variables=has_variables)) + "\n"


def state_id(state: str) -> str:
    """The id of a state's element: its name, with characters that an id cannot contain written as `.<hex>.`"""
    return "state-" + _UNSAFE.sub(lambda found: f".{ord(found.group()):x}.", state)


class _Writer:
    def __init__(self, scene: Scene, prefix: str) -> None:
        self._scene, self._prefix = scene, prefix

    def lines(self, theme: Theme, *, has_variables: bool) -> Iterator[str]:
        scene = self._scene
        width, height = number(scene.width), number(scene.height)
        sheet = (style_sheet if has_variables else plain_style_sheet)(theme, SCOPE)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{SCOPE}" role="img" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">'
        )
        yield f"<title>{content_text(scene.diagram.name)}</title>"
        if scene.diagram.description:
            yield f"<desc>{content_text(scene.diagram.description)}</desc>"
        yield f"<style>\n{sheet}</style>"
        yield f'<rect class="paper" width="{width}" height="{height}"/>'
        yield from self._group("containers", (self._box(box) for box in scene.boxes if box.is_container))
        yield from self._group("edges", (self._arrow(arrow) for arrow in scene.arrows))
        yield from self._group("states", (self._box(box) for box in scene.boxes if not box.is_container))
        yield "</svg>"

    def _group(self, name: str, members: Iterator[Iterator[str]]) -> Iterator[str]:
        yield f'<g class="{name}">'
        for lines in members:
            yield from lines
        yield "</g>"

    # ------------------------------------------------------------ boxes

    def _box(self, placed: PlacedBox) -> Iterator[str]:
        box = placed.box
        yield f"<g {self._identity(box)} class={quoteattr(_box_classes(placed))}>"
        if box.tooltip:
            yield f"<title>{content_text(box.tooltip)}</title>"
        yield from _shape(box, placed.rect)
        for text in placed.texts:
            yield from _text(text, _taken(box))
        yield "</g>"

    def _identity(self, box: Box) -> str:
        if box.kind == "initial":
            return f'id="{self._prefix}{state_id(box.state).replace("state-", "initial-", 1)}"'
        return f'id="{self._prefix}{state_id(box.state)}" data-state={attribute(box.state)}'

    # ------------------------------------------------------------ arrows

    def _arrow(self, placed: PlacedArrow) -> Iterator[str]:
        arrow = placed.arrow
        by_id = self._scene.diagram.by_id
        source, target = by_id[arrow.source], by_id[arrow.target]
        numbers = " ".join(str(entry.transition) for entry in arrow.entries if entry.transition is not None)
        data = f' data-transition="{numbers}"' if numbers else ""
        yield (
            f'<g id="{self._prefix}edge-{arrow.id}" class="{_arrow_classes(arrow)}" '
            f"data-source={attribute(source.state)} data-target={attribute(target.state)}{data}>"
        )
        tooltip = "\n\n".join(entry.tooltip for entry in arrow.entries if entry.tooltip)
        if tooltip:
            yield f"<title>{content_text(tooltip)}</title>"
        yield f'<path class="line" d="{line_path(placed.route.parts)}"/>'
        yield f'<path class="arrow" d="{head_path(placed.route.parts[-1])}"/>'
        if placed.text is not None:
            yield from _text(placed.text, frozenset(e.transition for e in arrow.entries if e.is_taken))
        yield "</g>"


def _box_classes(placed: PlacedBox) -> str:
    box = placed.box
    kind = "initial" if box.kind == "initial" else f"state {box.kind.replace(' ', '-')}"
    flags = (
        ("container" if placed.is_container else "leaf", True),
        ("region", box.is_region),
        ("active", box.is_active),
    )
    return " ".join([kind, *(name for name, holds in flags if holds)])


def _arrow_classes(arrow: Arrow) -> str:
    numbers = [f"t{entry.transition}" for entry in arrow.entries if entry.transition is not None]
    flags = (("error", arrow.is_error), ("taken", arrow.is_taken))
    return " ".join(["edge", arrow.kind, *numbers, *(name for name, holds in flags if holds)])


def _shape(box: Box, rect: Rect) -> Iterator[str]:
    if box.kind in ("initial", "shallow history", "deep history"):
        x, y = rect.centre
        yield f'<circle class="shape" cx="{number(x)}" cy="{number(y)}" r="{number(rect.width / 2)}"/>'
        return
    yield f'<rect class="shape" {sides(rect)} rx="10"/>'
    if box.kind == "final":
        inner = Rect(rect.x + 3.5, rect.y + 3.5, rect.width - 7, rect.height - 7)
        yield f'<rect class="ring" {sides(inner)} rx="7"/>'


def sides(rect: Rect) -> str:
    found = (("x", rect.x), ("y", rect.y), ("width", rect.width), ("height", rect.height))
    return " ".join(f'{name}="{number(value)}"' for name, value in found)


def _taken(box: Box) -> frozenset[int | None]:
    return frozenset(entry.transition for entry in box.rows if entry.is_taken)


def _text(text: PlacedText, taken: frozenset[int | None]) -> Iterator[str]:
    for placed in text.runs:
        run = placed.run
        classes: list[str] = [run.style]
        if run.transition is not None:
            classes += [f"t{run.transition}"] + ["taken"] * (run.transition in taken)
        yield (
            f'<text class="{" ".join(classes)}" x="{number(placed.x)}" y="{number(placed.y)}" '
            f'textLength="{number(run.width)}" lengthAdjust="spacingAndGlyphs">{content_text(run.text)}</text>'
        )


def line_path(parts: Sequence[Sequence[Point]]) -> str:
    """Path data of a line with round corners; a gap between its parts is the place of its label."""
    last = len(parts) - 1
    return " ".join(_rounded(_shortened(part) if place == last else part) for place, part in enumerate(parts))


def _shortened(part: Sequence[Point]) -> Sequence[Point]:
    """The part, ending in the middle of the arrow's head: otherwise a thick line would be visible beside the tip."""
    (x1, y1), (x2, y2) = part[-2], part[-1]
    length = max(abs(x2 - x1), abs(y2 - y1)) or 1.0
    back = min(ARROW[0] / 2, length / 2) / length
    return [*part[:-1], (x2 - (x2 - x1) * back, y2 - (y2 - y1) * back)]


def _rounded(part: Sequence[Point]) -> str:
    path = [f"M{_point(part[0])}"]
    for before, corner, after in zip(part, part[1:], part[2:], strict=False):
        radius = min(CORNER, _distance(before, corner) / 2, _distance(corner, after) / 2)
        path.append(
            f"L{_point(_towards(corner, before, radius))}Q{_point(corner)} {_point(_towards(corner, after, radius))}"
        )
    path.append(f"L{_point(part[-1])}")
    return "".join(path)


def head_path(part: Sequence[Point]) -> str:
    tip, before = part[-1], part[-2]
    length, half = ARROW
    dx, dy = _direction(before, tip)
    x, y = tip[0] - dx * length, tip[1] - dy * length
    return f"M{_point(tip)}L{_point((x - dy * half, y + dx * half))}L{_point((x + dy * half, y - dx * half))}Z"


def _direction(start: Point, end: Point) -> Point:
    distance = _distance(start, end) or 1.0
    return (end[0] - start[0]) / distance, (end[1] - start[1]) / distance


def _distance(one: Point, other: Point) -> float:
    return float(((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2) ** 0.5)


def _towards(start: Point, end: Point, length: float) -> Point:
    dx, dy = _direction(start, end)
    return start[0] + dx * length, start[1] + dy * length


def _point(point: Point) -> str:
    return f"{number(point[0])},{number(point[1])}"


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def content_text(text: str) -> str:
    return escape("\n".join(visible(line) for line in text.splitlines()))


def attribute(text: str) -> str:
    return quoteattr(visible(text))
