"""docs/contracts.md: its example is run, its failure is the real one, and it has every phrase and no other."""

from __future__ import annotations

import re
from pathlib import Path

from rawko.testing import run_contracts
from rawko.testing.steps.book import BOOK

PAGE = (Path(__file__).parents[2] / "docs" / "contracts.md").read_text("utf-8")


def block(language: str, number: int = 0) -> str:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found[number]


def lamp(folder: Path, feature: str) -> Path:
    (folder / "lamp.yaml").write_text(block("yaml"), "utf-8")
    (folder / "lamp.feature").write_text(feature, "utf-8")
    return folder / "lamp.yaml"


def test_the_example_holds(tmp_path: Path) -> None:
    result = run_contracts([lamp(tmp_path, block("gherkin"))])
    assert (result.exit_code, result.passed) == (0, 4), result.failures or result.errors


def test_the_failure_shown_is_what_is_printed(tmp_path: Path) -> None:
    feature = block("gherkin").replace("Given guard has_power is true", "Given guard has_power is false")
    result = run_contracts([lamp(tmp_path, feature)], only="a press lights")
    assert result.failures.replace(f"{tmp_path}/", "").strip() == block("text").strip()


def test_the_tables_hold_every_phrase() -> None:
    shown = set(re.findall(r"`([^`]*)`", "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))))
    assert {p.template for p in BOOK.phrases} - shown == set()
    assert {text for text in shown if "{" in text and not text.startswith("{")} <= {p.template for p in BOOK.phrases}
