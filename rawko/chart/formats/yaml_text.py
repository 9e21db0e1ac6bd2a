"""Writes JSON data as readable YAML: short values on one line, long ones over several, no aliases.

Texts are written without quotes only if readers of YAML 1.1 and of 1.2 both read them as strings.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from rawko.chart.source.nodes import ScalarNode
from rawko.chart.source.scalars import NotJsonError, scalar_value

MAX_INLINE = 100
"""The most characters of a list or mapping on one line, brackets included."""

_SPLITS = re.compile(r"[,\[\]{}]")
_TAG = "tag:yaml.org,2002:"


class Block(dict[str, Any]):
    """A mapping that is always written with one key per line."""


class Rows(list[Any]):
    """A list that is always written with one item per line."""


def yaml_text(value: Any) -> str:
    """YAML text of JSON data, keys in order."""
    node, _ = _node(value)
    text: str = yaml.serialize(node, Dumper=_Dumper, allow_unicode=True, width=1_000_000)
    return text


class _Dumper(yaml.SafeDumper):
    """Indents lists below their keys as stock PyYAML does."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


def _node(value: Any) -> tuple[yaml.Node, int]:
    """A node and its width on one line; a value that needs several lines is wider than any line."""
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, (list, tuple)):
        return _sequence(value)
    if isinstance(value, str):
        return _text(value)
    return _constant(value)


def _mapping(value: dict[str, Any]) -> tuple[yaml.Node, int]:
    pairs = [(_text(key), _node(item)) for key, item in value.items()]
    width = sum(key + item + 4 for (_, key), (_, item) in pairs)
    is_inline = not isinstance(value, Block) and width <= MAX_INLINE
    nodes = [(key, item) for (key, _), (item, _) in pairs]
    return yaml.MappingNode(f"{_TAG}map", nodes, flow_style=is_inline), _wide(width, is_inline)


def _sequence(value: list[Any] | tuple[Any, ...]) -> tuple[yaml.Node, int]:
    items = [_node(item) for item in value]
    width = sum(item + 2 for _, item in items)
    is_inline = not value or (not isinstance(value, Rows) and width <= MAX_INLINE)
    return yaml.SequenceNode(f"{_TAG}seq", [node for node, _ in items], flow_style=is_inline), _wide(width, is_inline)


def _wide(width: int, is_inline: bool) -> int:
    return width if is_inline else MAX_INLINE + 1


def _text(text: str) -> tuple[yaml.Node, int]:
    if "\n" in text and _stands_as_block(text.split("\n")):
        return yaml.ScalarNode(f"{_TAG}str", text, style="|"), MAX_INLINE + 1
    style = None if _reads_as_text(text) else "'"
    if "'" in text and _SPLITS.search(text):
        style = '"'  # it needs quotes anyway; doubled apostrophes are hard to read
    # Invisible characters are escaped: PyYAML would write some of them raw, and readers take them for line breaks.
    return yaml.ScalarNode(f"{_TAG}str", text, style=style if text.isprintable() else '"'), len(text)


def _stands_as_block(lines: list[str]) -> bool:
    """Whether the lines can be a literal block: an indented or empty first line would need an indentation indicator."""
    if not all(line.isprintable() and line == line.rstrip() for line in lines):
        return False
    return all(line == line.lstrip() for line in lines) or (lines[0] != "" and lines[0] == lines[0].lstrip())


def _reads_as_text(text: str) -> bool:
    """Whether the chart reader reads the text as a string; PyYAML's emitter checks the same for YAML 1.1."""
    try:
        return isinstance(scalar_value(ScalarNode(text, None, None, 1, 1)), str)
    except NotJsonError:
        return False


def _constant(value: float | None) -> tuple[yaml.Node, int]:
    kind, text = _constant_text(value)
    return yaml.ScalarNode(_TAG + kind, text), len(text)


def _constant_text(value: float | None) -> tuple[str, str]:
    if value is None:
        return "null", "null"
    if isinstance(value, bool):
        return "bool", "true" if value else "false"
    if isinstance(value, int):
        return "int", str(value)
    text = repr(float(value))
    # YAML 1.1 requires a point in every float: it reads 1e+16 as a string.
    return "float", text if "." in text else text.replace("e", ".0e", 1)
