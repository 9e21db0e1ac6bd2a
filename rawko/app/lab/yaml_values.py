"""Sets a value in a YAML text that otherwise stays as it is: comments, order, quotes, blank lines.

    name: developer        # who           set ("context", "history_select") to 5:
    limits: {turns: 30}
                                           name: developer        # who
                                           limits: {turns: 30}
                                           context: {history_select: 5}

A scalar that exists is replaced in its place; a missing key is added to its mapping: before the first key of a block
mapping, or at the end of `{...}`. Cases that positions cannot handle (an alias, say) give wrong data: the caller parses
the result and compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml


def with_value(text: str, path: Sequence[str], value: int) -> str:
    """The text with a number at a path of keys.

    Raises:
        ValueError: The text is no mapping, or a value on the path is a list or a text.
        yaml.YAMLError: The text is no YAML.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise ValueError("the file is no mapping")
    node: Any = root
    for number, key in enumerate(path):
        found = next((inner for name, inner in node.value if name.value == key), None)
        if found is None:
            return _added(text, node, key, _flow(path[number + 1 :], value), is_root=node is root)
        node = found
        if not isinstance(node, yaml.MappingNode):
            is_scalar = isinstance(node, yaml.ScalarNode)
            is_empty = is_scalar and node.tag == "tag:yaml.org,2002:null"
            if not is_scalar or (number < len(path) - 1 and not is_empty):
                raise ValueError(f"{'.'.join(path[: number + 1])} is no mapping")
            start, end = node.start_mark.index, node.end_mark.index
            space = "" if text[start - 1 : start].isspace() else " "
            return f"{text[:start]}{space}{_flow(path[number + 1 :], value)}{text[end:]}"
    raise ValueError(f"{'.'.join(path)} is a mapping")


def _flow(path: Sequence[str], value: int) -> str:
    """The value under the remaining keys, in flow style: `{summary_chars: {select: 5}}`."""
    return str(value) if not path else f"{{{path[0]}: {_flow(path[1:], value)}}}"


def _added(text: str, node: Any, key: str, told: str, *, is_root: bool) -> str:
    """The text with another key in a mapping; at the end of the file for the root mapping."""
    if node.flow_style:
        end = node.end_mark.index - 1
        body = text[:end].rstrip()
        comma = "" if body.endswith(("{", ",")) else ","
        return f"{body}{comma}{'' if body.endswith('{') else ' '}{key}: {told}{text[end:]}"
    line_end = "\r\n" if "\r\n" in text else "\n"
    if is_root:
        return f"{text}{'' if text.endswith(line_end) else line_end}{key}: {told}{line_end}"
    start = node.value[0][0].start_mark
    return f"{text[: start.index]}{key}: {told}{line_end}{' ' * start.column}{text[start.index :]}"
