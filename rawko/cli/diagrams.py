"""`diagram`: a chart as a picture, or as a text that other programs draw."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from rawko.chart import ChartError, load_chart
from rawko.cli.output import complain, visible, write_out


@dataclass(frozen=True, slots=True)
class Drawing:
    """What was asked for on the command line, unchecked."""

    theme: str = "light"
    direction: str = "down"
    focus: str | None = None
    depth: int | None = None


def diagram_command(path: Path, output: Path | None, drawing: Drawing, *, trusted: bool) -> int:
    """Draw a chart in the format that the file's ending names; Mermaid on standard output."""
    from rawko.render.draw import FORMATS, Options, draw
    from rawko.render.errors import RenderError, UnknownFormatError
    from rawko.render.layout import Direction
    from rawko.render.themes import Theme

    suffix = ".mmd" if output is None else output.suffix
    if suffix not in FORMATS:
        return complain(f"{output}: {UnknownFormatError(suffix, FORMATS)}")
    for name, value, accepted in (
        ("theme", drawing.theme, get_args(Theme)),
        ("direction", drawing.direction, get_args(Direction)),
    ):
        if value not in accepted:
            return complain(f"--{name} {value!r} is not known; accepted: {', '.join(accepted)}")
    options = Options(cast(Direction, drawing.direction), cast(Theme, drawing.theme), drawing.focus, drawing.depth)
    try:
        drawn = draw(load_chart(path, trusted=trusted), suffix, options)
    except ChartError as error:
        for diagnostic in error.diagnostics:
            print(visible(str(diagnostic)), file=sys.stderr)
        return 1
    except RenderError as error:
        return complain(f"{path}: {error}")
    return write_out(drawn, output) if isinstance(drawn, str) else _write_bytes(drawn, output)


def _write_bytes(drawn: bytes, output: Path | None) -> int:
    if output is None:
        sys.stdout.buffer.write(drawn)
        return 0
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(drawn)
    except OSError as error:
        return complain(f"{output}: cannot be written: {error.strerror}")
    return 0
