"""The drawings of the shipped machines, for the documentation: `python -m rawko.render.docs [FOLDER]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rawko.chart import find_chart, load_chart, shipped_charts
from rawko.render.draw import Options, draw

FOLDER = Path("docs/machines")


def drawings() -> Iterator[tuple[str, str]]:
    """File name and SVG text of every shipped machine, in the order of their names."""
    for stem in shipped_charts():
        svg = draw(load_chart(find_chart(stem)), ".svg", Options(theme="auto"))
        assert isinstance(svg, str)
        yield f"{stem}.svg", svg


def main(arguments: Sequence[str]) -> int:
    """Write the drawings into a folder, `docs/machines` of the current one by default."""
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in drawings():
        (folder / name).write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
