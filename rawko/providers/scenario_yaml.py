"""YAML text of a scenario into plain JSON data, with the position of every key and value.

YAML 1.2's core types (`on` and `yes` are text), no tags, no merge keys, no duplicate keys; what anchors expand to
is bounded, so that no file can exhaust the memory. What the data means is not known here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from rawko.providers.scenario_errors import Defect, ScenarioError

Path: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = tuple[int, int]
"""Line and column, both counted from 1."""

MAX_VALUES = 100_000
MAX_DEPTH = 60

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BaseLoader):  # type: ignore[misc]  # chosen at run time
    """Composes nodes with YAML 1.2 core tags; it is never asked to construct objects."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  PyYAML's own spelling


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first))

_SCALARS: dict[str, Any] = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:bool": lambda text: text.lower() == "true",
    "tag:yaml.org,2002:int": lambda text: int(text, 0 if text[:2] in ("0o", "0x") else 10),
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:null": lambda _: None,
}

_HINTS = {"mapping values are not allowed in this context": " (quote text that holds ': ')"}


@dataclass(slots=True)
class Document:
    """Plain data and where each part of it stands."""

    data: Any
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path, *, of_key: bool = False) -> Place:
        """Where a path stands; for a path that is not there, its nearest ancestor."""
        for end in range(len(path), -1, -1):
            part = path[:end]
            if of_key and part in self.keys:
                return self.keys[part]
            if part in self.values:
                return self.values[part]
        return (1, 1)


def read_document(text: str, source: str) -> Document:
    """The data of one YAML document with its positions.

    Raises:
        ScenarioError: The text is no YAML, or uses what the format leaves out.
    """
    return _Reader(source).read(text)


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._document = Document(None)
        self._count = 0

    def read(self, text: str) -> Document:
        try:
            self._check_depth(text)
            root = yaml.compose(text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = error.problem or error.context or "unreadable"
            hint = _HINTS.get(problem, "")
            raise self._error(mark, f"not YAML: {problem}{hint}") from error
        except yaml.YAMLError as error:
            raise self._error(None, f"not YAML: {error}") from error
        if root is None:
            raise self._error(None, "the file is empty; accepted: a mapping with 'scenario' and 'replies'")
        self._document.data = self._value(root, ())
        return self._document

    def _check_depth(self, text: str) -> None:
        """Composing recurses once a level, so depth is measured on the flat events first."""
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                raise self._error(event.start_mark, f"nested too deep; accepted: {MAX_DEPTH} levels")

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._count += 1
        if self._count > MAX_VALUES or len(path) > MAX_DEPTH:
            raise self._error(node.start_mark, "the file expands to too much; do aliases nest?")
        self._document.values[path] = _place(node.start_mark)
        if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
            return _SCALARS[node.tag](node.value)
        raise self._error(node.start_mark, f"tag {node.tag!r} is not accepted; accepted: plain YAML without tags")

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in data:
                first = self._document.keys[*path, key][0]
                raise self._error(key_node.start_mark, f"key {key!r} is there already, in line {first}")
            self._document.keys[*path, key] = _place(key_node.start_mark)
            data[key] = self._value(value_node, (*path, key))
        return data

    def _key(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str":
            return str(node.value)
        found = repr(node.value) if isinstance(node, yaml.ScalarNode) else "a collection"
        raise self._error(node.start_mark, f"a key must be text, found {found}; quote it")

    def _error(self, mark: Any, message: str) -> ScenarioError:
        line, column = _place(mark) if mark is not None else (1, 1)
        return ScenarioError((Defect(self._source, line, column, message),))


def _place(mark: Any) -> Place:
    return mark.line + 1, mark.column + 1
