"""docs/lint.md: each code has an example that it is told of, and one of which nothing is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rawko.chart import RULES, ChartError, check_text
from tests.chart.test_reference import whole

PAGE = (Path(__file__).parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r'^### `([a-z-]+)`\n\n(.*?)\n\n```yaml title="told"\n(.*?)^```\n\n```yaml title="clean"\n(.*?)^```',
    PAGE,
    re.MULTILINE | re.DOTALL,
)
WITHOUT = re.findall(r"^- `([a-z-]+)`: ", PAGE, re.MULTILINE)


def chart(block: str) -> str:
    """A block as a whole chart; one that cannot be read is put below a root as it is."""
    if block.startswith("statechart:"):
        return block
    try:
        return whole(block)
    except (ChartError, KeyError, ValueError):
        lines = "".join(f"    {line}\n" for line in block.splitlines())
        return f"statechart:\n  name: t\n  root state:\n    name: r\n    initial: a\n    states:\n{lines}"


def codes(block: str, code: str) -> set[str]:
    """What is told of an example for a code; notes only for the example of that note."""
    found = check_text(chart(block)).diagnostics
    return {each.code for each in found if each.severity != "note" or each.code == code}


@pytest.mark.parametrize(("code", "words", "told", "clean"), EXAMPLES, ids=[each[0] for each in EXAMPLES])
def test_a_code_is_told_of_its_example_and_of_no_other(code: str, words: str, told: str, clean: str) -> None:
    assert codes(told, code) == {code}
    assert codes(clean, code) == set()
    assert words.startswith(RULES[code].text[1:], 1)


def test_every_code_is_on_the_page_once() -> None:
    named = [each[0] for each in EXAMPLES] + WITHOUT
    assert sorted(named) == sorted(code for code, rule in RULES.items() if rule.when not in ("bindings", "export"))
    assert all(f"`{code}`" in PAGE for code in RULES)
