"""Writes a drawing with rows as SVG, with the same classes and data attributes as drawings with labels on lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rawko.render.formats.svg import SCOPE, attribute, content_text, head_path, line_path, number, sides, state_id
from rawko.render.formats.themes import Theme, plain_style_sheet, style_sheet
from rawko.render.graph import Arrow, Box
from rawko.render.placing.layout import Rect
from rawko.render.placing.measure import text_width
from rawko.render.placing.scene import PlacedRun
from rawko.render.placing.texts import Run, visible
from rawko.render.rows.cards import PILL, CardForm, Cell
from rawko.render.rows.content import Row
from rawko.render.rows.drawing import LEGEND_INSET, Dot, RowDrawing
from rawko.render.rows.lines import Line

PILL_HEIGHT = 14.5


def to_rows_svg(drawing: RowDrawing, *, theme: Theme = "light", has_variables: bool = True, prefix: str = "") -> str:
    """SVG text, ending with a newline. The arguments are those of `to_svg`."""
    return "\n".join(_Writer(drawing, prefix).lines(theme, has_variables=has_variables)) + "\n"


class _Writer:
    def __init__(self, drawing: RowDrawing, prefix: str) -> None:
        self._drawing, self._prefix = drawing, prefix

    def lines(self, theme: Theme, *, has_variables: bool) -> Iterator[str]:
        drawing = self._drawing
        width, height = map(number, drawing.whole_size)
        write = style_sheet if has_variables else plain_style_sheet
        sheet = write(theme, SCOPE, has_changes=bool(drawing.diagram.changes))
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{SCOPE} rows" role="img" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}">'
        )
        yield f"<title>{content_text(drawing.diagram.name)}</title>"
        if drawing.diagram.description:
            yield f"<desc>{content_text(drawing.diagram.description)}</desc>"
        yield f"<style>\n{sheet}</style>"
        yield f'<rect class="paper" width="{width}" height="{height}"/>'
        if drawing.caption.runs:
            yield '<g class="caption">'
            for placed in drawing.caption.runs:
                yield _text(placed, 0, 0, is_taken=False)
            yield f'</g>\n<g transform="translate(0,{number(drawing.caption.height)})">'
        yield '<g class="containers">'
        for form, rect in drawing.forms:
            if form.card.is_container:
                yield from self._card(form, rect)
        yield '</g>\n<g class="edges">'
        for line in drawing.lines:
            yield from self._line(line)
        for dot in drawing.dots:
            yield from self._dot(dot)
        yield '</g>\n<g class="states">'
        for form, rect in drawing.forms:
            if not form.card.is_container:
                yield from self._card(form, rect)
        yield '</g>\n<g class="legend">'
        yield from self._legend()
        yield "</g>\n</g>\n</svg>" if drawing.caption.runs else "</g>\n</svg>"

    # ------------------------------------------------------------ cards

    def _card(self, form: CardForm, rect: Rect) -> Iterator[str]:
        box = form.card.box
        name = f'id="{self._prefix}{state_id(box.state)}" data-state={attribute(box.state)}'
        yield f'<g {name} class="{_card_classes(form)}">'
        if box.tooltip:
            yield f"<title>{content_text(box.tooltip)}</title>"
        yield f'<rect class="shape" {sides(rect)} rx="10"/>'
        if form.is_end:
            yield f'<rect class="ring" {sides(_inner(rect, 3.5))} rx="7"/>'
        if form.shared:
            top, bottom = form.shared
            yield (
                f'<rect class="shared-rows" {sides(Rect(rect.x + 6, rect.y + top, rect.width - 12, bottom - top))} '
                'rx="7"/>'
            )
        for y in form.rules:
            yield (f'<path class="rule" d="M{number(rect.x + 8)},{number(rect.y + y)}H{number(rect.right - 8)}"/>')
        yield from self._texts(form, rect)
        yield "</g>"

    def _texts(self, form: CardForm, rect: Rect) -> Iterator[str]:
        by_row: dict[int, list[str]] = {}
        rows: dict[int, Row] = {}
        for placed, row in form.runs:
            text = _text(placed, rect.x, rect.y, is_taken=row is not None and row.entry.is_taken)
            if row is None:
                yield text
            else:
                rows[id(row)] = row
                by_row.setdefault(id(row), []).append(text)
        for cell in form.cells:
            rows[id(cell.row)] = cell.row
            by_row.setdefault(id(cell.row), []).extend(self._target(cell, rect))
        for key, texts in by_row.items():
            yield f"<g {_row_identity(rows[key])}>"
            if rows[key].entry.tooltip:
                yield f"<title>{content_text(rows[key].entry.tooltip)}</title>"
            yield from texts
            yield "</g>"

    def _target(self, cell: Cell, rect: Rect) -> Iterator[str]:
        transition = cell.row.transitions[0] if cell.row.transitions else None
        is_line = cell.target.arrow.id in self._drawing.drawn
        x, y = rect.x + cell.x, rect.y + cell.y
        if not is_line:
            width = text_width(cell.text, 12)
            yield from _pill(Rect(x, y - 11.5, width + 2 * PILL, PILL_HEIGHT), is_end=cell.target.box.kind == "final")
            x += PILL
        run = Run(cell.text, "target" if is_line else "chip", transition)
        yield _text(PlacedRun(run, x, y), 0, 0, is_taken=cell.row.entry.is_taken)

    # ------------------------------------------------------------ lines

    def _line(self, line: Line) -> Iterator[str]:
        yield from self._edge(line.arrow)
        yield f'<path class="line" d="{line_path(line.parts)}"/>'
        yield f'<path class="arrow" d="{head_path(line.parts[-1])}"/>'
        yield "</g>"

    def _edge(self, arrow: Arrow) -> Iterator[str]:
        by_id = self._drawing.diagram.by_id
        source, target = by_id[arrow.source].state, by_id[arrow.target].state
        numbers = [str(entry.transition) for entry in arrow.entries if entry.transition is not None]
        change = arrow.change
        flags = (("error", arrow.is_error), ("taken", arrow.is_taken), (change or "", change is not None))
        classes = ["edge", arrow.kind, *(f"t{each}" for each in numbers), *(name for name, holds in flags if holds)]
        data = f' data-transition="{" ".join(numbers)}"' if numbers else ""
        yield (
            f'<g id="{self._prefix}edge-{arrow.id}" class="{" ".join(classes)}" '
            f"data-source={attribute(source)} data-target={attribute(target)}{data}>"
        )
        tooltip = "\n\n".join(entry.tooltip for entry in arrow.entries if entry.tooltip)
        if tooltip:
            yield f"<title>{content_text(tooltip)}</title>"

    def _dot(self, dot: Dot) -> Iterator[str]:
        x, y = dot.centre
        name = f"{self._prefix}{state_id(dot.box.state).replace('state-', 'initial-', 1)}"
        yield f'<g id="{name}" class="initial leaf"><circle class="shape" cx="{number(x)}" cy="{number(y)}" r="6"/></g>'
        yield from self._edge(dot.arrow)
        if dot.end is not None:
            part = ((x, y + 6), dot.end)
            yield f'<path class="line" d="{line_path([part])}"/><path class="arrow" d="{head_path(part)}"/>'
            actions = next((entry.actions for entry in dot.arrow.entries if entry.actions), "")
            if actions:
                yield _text(PlacedRun(Run(visible(f"/ {actions}"), "action"), x + 12, y + 4), 0, 0, is_taken=False)
        for arrow in dot.names:
            target = self._drawing.diagram.by_id[arrow.target]
            title = visible(target.title)
            yield _text(PlacedRun(Run("→", "quiet"), x + 12, y + 4), 0, 0, is_taken=False)
            width = text_width(title, 12)
            yield from _pill(Rect(x + 29, y - 7.5, width + 2 * PILL, PILL_HEIGHT), is_end=target.kind == "final")
            yield _text(PlacedRun(Run(title, "chip"), x + 29 + PILL, y + 4), 0, 0, is_taken=False)
            x += 29 + width + 2 * PILL
        yield "</g>"

    def _legend(self) -> Iterator[str]:
        legend = self._drawing.legend
        if legend.text:
            yield _text(PlacedRun(legend, LEGEND_INSET, self._drawing.height - 16), 0, 0, is_taken=False)


def _card_classes(form: CardForm) -> str:
    box: Box = form.card.box
    flags = (
        ("container" if form.card.is_container else "leaf", True),
        ("shared", form.card.is_shared),
        ("region", box.is_region),
        ("active", box.is_active),
        (box.change or "", box.change is not None),
    )
    return " ".join(["state", box.kind.replace(" ", "-"), *(name for name, holds in flags if holds)])


def _row_identity(row: Row) -> str:
    classes = [
        "row-of",
        *(f"t{each}" for each in row.transitions),
        *(["taken"] if row.entry.is_taken else []),
        *_changed(row),
    ]
    data = f' data-transition="{" ".join(map(str, row.transitions))}"' if row.transitions else ""
    return f'class="{" ".join(classes)}"{data}'


def _changed(row: Row) -> Sequence[str]:
    return () if row.entry.change is None else (row.entry.change,)


def _pill(rect: Rect, *, is_end: bool) -> Iterator[str]:
    yield f'<rect class="pill{" end" if is_end else ""}" {sides(rect)} rx="7"/>'
    if is_end:
        yield f'<rect class="pill end-ring" {sides(rect)} rx="7"/>'


def _inner(rect: Rect, by: float) -> Rect:
    return Rect(rect.x + by, rect.y + by, rect.width - 2 * by, rect.height - 2 * by)


def _text(placed: PlacedRun, dx: float, dy: float, *, is_taken: bool) -> str:
    run = placed.run
    classes: list[str] = [run.style]
    if run.transition is not None:
        classes += [f"t{run.transition}"] + ["taken"] * is_taken
    return (
        f'<text class="{" ".join(classes)}" x="{number(placed.x + dx)}" y="{number(placed.y + dy)}" '
        f'textLength="{number(max(run.width, 1.0))}" lengthAdjust="spacingAndGlyphs">{content_text(run.text)}</text>'
    )
