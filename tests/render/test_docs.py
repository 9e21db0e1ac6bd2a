"""The committed drawings are the ones that are drawn now. To draw them: `python -m rawko.render.docs`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rawko.chart import shipped_charts
from rawko.render.docs import COMPARED, END, START, differences, drawings, main, with_tables

FOLDER = Path(__file__).parents[2] / "docs" / "machines"


def test_the_drawings_in_the_documentation_are_those_of_the_charts() -> None:
    stale = [name for name, svg in drawings() if (FOLDER / name).read_text(encoding="utf-8") != svg]
    assert stale == [], "run `python -m rawko.render.docs`"
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(shipped_charts())


def test_the_picture_of_two_charts_is_that_of_the_charts_beside_it() -> None:
    folder = FOLDER.parent / COMPARED
    assert (folder / "door.svg").read_text(encoding="utf-8") == differences(folder), "run `python -m rawko.render.docs`"


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.stem)
def test_every_page_shows_its_drawing(page: Path) -> None:
    assert f"({page.stem}.svg)" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.stem)
def test_every_page_holds_the_tables_of_its_chart(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert START in text and END in text
    assert with_tables(text, page.stem) == text, "run `python -m rawko.render.docs`"


def test_all_are_written(tmp_path: Path) -> None:
    page = tmp_path / "orchestrator.md"
    page.write_text(f"# Mine\n{START}\nold\n{END}\nafter\n", encoding="utf-8")
    assert main([str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.iterdir()} == set(shipped_charts())
    text = page.read_text(encoding="utf-8")
    assert (
        text.startswith("# Mine\n") and text.endswith("\nafter\n") and "`selecting`" in text and "\nold\n" not in text
    )
