"""Writes single values: without quotes if every YAML reader reads the same text, otherwise with quotes."""

from __future__ import annotations

import re
import textwrap
from functools import lru_cache
from typing import Any

import yaml

from rawko.chart.errors import ChartSyntaxError
from rawko.chart.formatting.tree import Scalar
from rawko.chart.source.composer import compose
from rawko.chart.source.nodes import MappingNode, ScalarNode
from rawko.chart.source.scalars import NotJsonError, scalar_value

_RESOLVER: Any = yaml.resolver.Resolver()
_STR = "tag:yaml.org,2002:str"
_ESCAPED = re.compile(r"[\"\\]")


def inline(scalar: Scalar, *, in_flow: bool) -> str:
    """A scalar on one line."""
    if scalar.style is None and len(scalar.source) == 1:
        text = scalar.source[0].strip()
    elif "\n" not in scalar.text and (scalar.style is not None or not scalar.marks) and _is_plain(scalar.text, in_flow):
        text = scalar.text
    else:
        text = _quoted(scalar.text)
    return f"{scalar.marks} {text}" if scalar.marks else text


def folded(text: str, width: int) -> list[str] | None:
    """A text as the lines of a folded block; None if folding would change the text."""
    if not text or "\n" in text or text != " ".join(text.split(" ")) or not text.isprintable():
        return None
    if "  " in text or text != text.strip():
        return None
    return textwrap.wrap(text, max(width, 40), break_long_words=False, break_on_hyphens=False)


def block_lines(scalar: Scalar) -> list[str] | None:
    """The lines of a block without their indentation; None if the indentation is not certain."""
    if any(char.isdigit() for char in scalar.header):
        return None
    filled = [line for line in scalar.source if line.strip()]
    if not filled:
        return None
    indent = len(filled[0]) - len(filled[0].lstrip(" "))
    if any(not line.startswith(" " * indent) for line in filled):
        return None
    return [line[indent:].rstrip("\r") if line.strip() else "" for line in scalar.source]


@lru_cache(maxsize=4096)
def _is_plain(text: str, in_flow: bool) -> bool:
    """Whether readers of YAML 1.1 and 1.2 read the unquoted text as this string."""
    if not text or not text.isprintable() or _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) != _STR:
        return False
    try:
        root = compose(f"{{k: {text}, l: 1}}" if in_flow else f"k: {text}\nl: 1", "").root
        entry = root.entries.get("k") if isinstance(root, MappingNode) and set(root.entries) == {"k", "l"} else None
        node = None if entry is None else entry[1]
        return (
            isinstance(node, ScalarNode) and node.is_plain and node.text == text and isinstance(scalar_value(node), str)
        )
    except (ChartSyntaxError, NotJsonError):
        return False


def _quoted(text: str) -> str:
    if text.isprintable() and _ESCAPED.search(text) and "'" not in text:
        return f"'{text}'"
    quoted: str = yaml.dump(text, default_style='"', allow_unicode=True, width=1_000_000)
    return quoted.rstrip("\n")
