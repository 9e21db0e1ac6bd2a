"""docs/chart-language.md: every example loads, every key and every code stands in it as the tables say."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import pytest

from rawko.chart import RULES, chart_schema, has_errors, lint_chart, parse_chart
from rawko.chart.grammar import ELEMENTS, Element
from rawko.chart.source.composer import compose
from rawko.chart.source.nodes import MappingNode, SequenceNode
from rawko.chart.source.scalars import to_json

PAGE = (Path(__file__).parents[2] / "docs" / "chart-language.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
KEYS_LEFT_OUT = {"preamble", "python", "data model"}
"""Shown in words only: they load only where they are trusted, or make sense only there."""


def whole(block: str) -> str:
    """A block as a whole chart: a list of states becomes the children of a root."""
    if block.startswith("statechart:"):
        return block
    first = to_json(compose(block, "block").root)[0]["name"]
    states = "".join(f"    {line}\n" for line in block.splitlines())
    return f"statechart:\n  name: example\n  root state:\n    name: root\n    initial: {first}\n    states:\n{states}"


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_loads_and_is_sound(block: str) -> None:
    text = whole(block)
    findings = lint_chart(parse_chart(text))
    assert not has_errors(findings), "\n".join(map(str, findings))
    document = to_json(compose(text, "block").root)
    jsonschema.Draft202012Validator(chart_schema()).validate(document)


@pytest.mark.parametrize("element", ELEMENTS, ids=lambda element: element.name)
def test_every_key_is_told_and_shown(element: Element) -> None:
    for key in element.keys.values():
        if element.name != "document":
            mark = " (required)" if key.is_required else ""
            assert f"| `{key.name}` | {key.doc}{mark} |" in PAGE
        assert key.name in KEYS_LEFT_OUT or key.name in shown_keys(), f"no example shows {key.name!r}"


def shown_keys() -> set[str]:
    found: set[str] = set()
    pending = [compose(block, "block").root for block in BLOCKS]
    while pending:
        node = pending.pop()
        if isinstance(node, MappingNode):
            found.update(node.entries)
            pending.extend(value for _, value in node.entries.values())
        elif isinstance(node, SequenceNode):
            pending.extend(node.items)
    return found


def test_the_table_of_diagnostics_is_the_table_of_rules() -> None:
    rows = [f"| `{rule.code}` | {rule.severity} | {rule.when} | {rule.text} |" for rule in RULES.values()]
    table = PAGE.split("| code | severity | kind | meaning |\n|---|---|---|---|\n")[1]
    assert table.splitlines() == rows
