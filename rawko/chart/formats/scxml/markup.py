"""Writes SCXML text: elements, attributes, names and times in the syntax of XML and SCXML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from rawko.chart.definition import Json
from rawko.chart.formats.yaml_writer import delay_text

_NOT_ID = re.compile(r"[^\w.-]+")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Lines = list[str]


def element(tag: str, attributes: Mapping[str, str], body: Lines) -> Lines:
    """An element with its body indented."""
    start = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
    if not body:
        return [f"<{tag}{start}/>"]
    return [f"<{tag}{start}>", *(f"  {line}" for line in body), f"</{tag}>"]


def text_element(tag: str, text: str) -> str:
    """An element that preserves a text exactly, over any number of lines."""
    inside = f"\n{escape(xml(text))}\n" if "\n" in text else escape(xml(text))
    return f"<{tag}>{inside}</{tag}>"


def params(data: Iterable[tuple[str, Json]], *, is_python: bool = False) -> Lines:
    """Literals as <param> elements, in JSON or Python syntax."""
    return [
        line
        for name, value in data
        for line in element("param", {"name": xml(name), "expr": xml(literal(value, is_python=is_python))}, [])
    ]


def literal(value: Json, *, is_python: bool) -> str:
    """A literal in the syntax of the data model."""
    found = plain(value)
    return repr(found) if is_python else json.dumps(found, ensure_ascii=False)


def plain(value: Any) -> Any:
    """JSON data as plain dicts and lists."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def css_time(milliseconds: float) -> str:
    """A time in CSS2 syntax."""
    text = delay_text(milliseconds)
    return text if text.endswith("s") else f"{int(milliseconds // 1000)}s"


def token(name: str) -> str:
    """The most similar name without spaces, for ids and events."""
    wildcard = ".*" if name.endswith(".*") else ""
    if name == "*":
        return name
    return (_NOT_ID.sub("_", name.removesuffix(".*")).strip(".") or "_") + wildcard


def xml(text: str) -> str:
    """Text without characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
