"""The YAML of a bounds file: plain values, with the line of each key. Duplicate keys are refused."""

from __future__ import annotations

from typing import Any, Final

import yaml

MAX_VALUES: Final = 100_000
"""Most keys and values of one file; those of an alias count at every place where it is used."""


class BoundsError(ValueError):
    """A bounds file cannot be used; the message says where, and what would be accepted."""


class Lined(dict[Any, Any]):
    """A mapping of the file.

    Attributes:
        lines: Line of each key, from 1.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[Any, int] = {}


def read_lined(text: str) -> Any:
    """The content of a YAML text.

    Raises:
        yaml.YAMLError: The text is not YAML.
        BoundsError: A mapping has a key twice, there are too many values, or an alias is inside its own anchor; the
            message begins with the line.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > MAX_VALUES:
            raise BoundsError(f"1: it has more than {MAX_VALUES} values, those of aliases counted wherever they stand")
        return loader.construct_document(node)
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """Loads plain values only, like `yaml.SafeLoader`."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Lined:
    found = Lined()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if not isinstance(key, str | int | float | bool | None):
            raise BoundsError(f"{line}: a key is a list or mapping; a name is accepted")
        if key in found.lines:
            raise BoundsError(f"{line}: duplicate key {key!r}, first on line {found.lines[key]}; one is accepted")
        found.lines[key] = line
    loader.flatten_mapping(node)
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        found.lines.setdefault(key, key_node.start_mark.line + 1)
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Number of values in a node; `known` has 0 for nodes that are being counted."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in known:
        if not known[id(node)]:
            raise BoundsError(f"{node.start_mark.line + 1}: an alias is inside its own anchor")
        return known[id(node)]
    known[id(node)] = 0
    parts = node.value
    if isinstance(node, yaml.MappingNode):
        parts = [part for pair in node.value for part in pair]
    found = 1 + sum(_size(part, known) for part in parts)
    known[id(node)] = found
    return found
