"""Windows of the laboratory: every number of an agent's `context:` can be tried, and is on the pages about agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rawko.app.lab.windows import parse_window
from rawko.vocabulary.agent import ContextOptions

DOCS = Path(__file__).parents[3] / "docs"


def numbers(options: dict[str, Any], above: str = "") -> Iterator[tuple[str, int]]:
    for name, value in options.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{above}{name}.")
        elif isinstance(value, int):
            yield f"{above}{name}", value


@pytest.mark.parametrize("name", [name for name, _ in numbers(ContextOptions().to_json())])
def test_every_number_can_be_tried(name: str) -> None:
    assert parse_window(f"{name}=7") == ((name, 7),)


@pytest.mark.parametrize("page", ["agents.md", "prompts.md"])
def test_the_pages_show_every_option_with_its_default(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    start = text.index("\ncontext:") + 1
    lines = text[start:].splitlines()
    block = [lines[0], *(line for line in lines[1:8] if line.startswith("  "))]
    assert yaml.safe_load("\n".join(block)) == {"context": ContextOptions().to_json()}
