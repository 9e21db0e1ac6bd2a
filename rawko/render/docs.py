"""Writes drawings and tables of the shipped machines for the docs: `python -m rawko.render.docs [FOLDER]`.

It also writes the picture of the differences between two example charts.

A page `<machine>.md` beside the drawings may contain the tables of its chart between two comments, `START` and `END`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rawko.chart import find_chart, load_chart, shipped_charts
from rawko.render.draw import Options, draw, draw_differences
from rawko.render.formats.table import to_tables

FOLDER = Path("docs/machines")
COMPARED = "diff-charts"
"""Folder beside `FOLDER` with two charts, whose differences are drawn."""
START = "<!-- tables: made by python -m rawko.render.docs -->"
END = "<!-- end of tables -->"
_BETWEEN = re.compile(f"{re.escape(START)}.*?{re.escape(END)}", re.DOTALL)


def drawings() -> Iterator[tuple[str, str]]:
    """File name and SVG text of every shipped machine, in the order of their names."""
    for stem in shipped_charts():
        svg = draw(load_chart(find_chart(stem)), ".svg", Options(theme="auto"))
        assert isinstance(svg, str)
        yield f"{stem}.svg", svg


def differences(folder: Path) -> str:
    """The picture of the differences between two charts of a folder, `before.yaml` and `after.yaml`."""
    before, after = (load_chart(folder / f"{name}.yaml") for name in ("before", "after"))
    svg = draw_differences(before, after, ".svg", Options(theme="auto"))
    assert isinstance(svg, str)
    return svg


def with_tables(page: str, stem: str) -> str:
    """A page with its machine's folded tables put between the two comments; a page without comments is unchanged."""
    tables = to_tables(load_chart(find_chart(stem)))
    summary = "<summary>Every state and transition, with guards, actions and descriptions</summary>"
    folded = f'{START}\n<details markdown="1">\n{summary}\n\n{tables}\n</details>\n{END}'
    return _BETWEEN.sub(lambda _: folded, page)


def main(arguments: Sequence[str]) -> int:
    """Write the drawings and tables into a folder, `docs/machines` of the current one by default."""
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in drawings():
        (folder / name).write_text(svg, encoding="utf-8")
    for stem in shipped_charts():
        page = folder / f"{stem}.md"
        if page.is_file():
            page.write_text(with_tables(page.read_text(encoding="utf-8"), stem), encoding="utf-8")
    compared = folder.parent / COMPARED
    if compared.is_dir():
        (compared / "door.svg").write_text(differences(compared), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
