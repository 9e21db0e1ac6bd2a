"""Composes plainly written YAML line by line, in a third of the time that libyaml's events take.

A text is plain if it contains only block mappings and lists, comments, names and texts on one line (bare, or quoted
without escapes), lists and mappings in brackets on one line, and blocks (`|`, `>`) of lines with the same indent. Most
charts are plain. For a plain text `compose_plain` gives the same tree as the general composer; for other texts, and
texts with a defect, it gives None, so that all messages come from the general composer. A property test compares both.

Example with the open collections after each line:

    statechart:                 mapping; `statechart` waits for its value
      states:                   mapping > mapping; `states` waits
        - name: a               mapping > mapping > list > mapping
          initial: b            mapping > mapping > list > mapping
        - {name: c}             mapping > mapping > list
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from rawko.chart.source.nodes import MappingNode, Node, ScalarNode, SequenceNode

MAX_CHARS: Final = 400_000
"""The longest text read here; it cannot have more values than the general composer allows."""
MAX_DEPTH: Final = 60
"""The deepest nesting read here, of blocks and of brackets separately: both together are within the general limit."""

_PRINTABLE: Final = bytes(range(0x20, 0x7F)) + b"\n"
_UNUSUAL: Final = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")

MAX_LINE: Final = 1_000
"""The longest line read here; it keeps keys below YAML's limit of 1,024 characters."""

_KEY = r"[\w$][\w.$ -]*(?<! )"
_LINE: Final = re.compile(rf"( *)(- +)?(?:({_KEY}):(?: +|$))?(.*)")
_BARE: Final = re.compile(r"(?:[\w$(/.~+]|-(?=\d))(?:[^:#]|:(?=[^ ])|(?<=[^ ])#)*(?<![: ])")
_QUOTED: Final = re.compile(r"""'([^']*)'|"([^"\\]*)\"""")
_END: Final = re.compile(r" *(?: #.*)?")
_BLOCK: Final = re.compile(r"([|>])(-?)")

_FLOW_BARE = r"(?:[\w$(/.~+]|-(?=\d))[^\]\[{},:#?]*(?<! )"
_FLOW_VALUE = rf"""(?:(?P<bare>{_FLOW_BARE})|'(?P<single>[^']*)'|"(?P<double>[^"\\]*)"|(?=[\[{{]))"""
_FLOW_PAIR: Final = re.compile(rf" *(?P<key>{_KEY}): +{_FLOW_VALUE}")
_FLOW_ITEM: Final = re.compile(rf" *{_FLOW_VALUE}")
_FLOW_NEXT: Final = re.compile(r" *([\],}])")
_FLAT: Final = re.compile(rf"\{{{_KEY}: {_FLOW_BARE}(?:, {_KEY}: {_FLOW_BARE})*\}}")

_Entries: TypeAlias = dict[str, tuple[ScalarNode, Node]]


class _NotPlain(Exception):
    """The text contains something that only the general composer can read."""


def compose_plain(text: str) -> Node | None:
    """The tree of a plainly written text; None for any other text."""
    if len(text) > MAX_CHARS or not _is_printable(text):
        return None
    try:
        return _composed(text.split("\n"))
    except _NotPlain:
        return None


def _is_printable(text: str) -> bool:
    """Whether the text has no tabs, only `\\n` as line break, and no character that YAML refuses or skips."""
    if text.isascii():
        return not text.encode().translate(None, _PRINTABLE)
    return not _UNUSUAL.search(text)


def _composed(lines: list[str]) -> Node:
    """The tree of a text's lines.

    `indent` is the column of the open collection, which is `entries` or `items`; `key` is a key whose value must
    begin on a later line. `waiting` contains (column, entries, items) of the collections around it; the outermost is a
    mapping around the document, with one key whose value is the document.
    """
    around: _Entries = {}
    indent = -1
    entries: _Entries | None = around
    items: list[Node] | None = None
    key: ScalarNode | None = ScalarNode("", None, None, 0, 0)
    waiting: list[tuple[int, _Entries | None, list[Node] | None]] = []
    read_until = 0
    match = _LINE.match
    for number, line in enumerate(lines, 1):
        if number <= read_until:
            continue
        found = match(line)
        if found is None or len(line) > MAX_LINE:
            raise _NotPlain
        lead, dash, name, rest = found.groups()
        if name is None and dash is None:
            if line and rest[:1] != "#":
                raise _NotPlain
            continue
        column = len(lead)
        while column < indent or (items is not None and dash is None and column == indent):
            if key is not None or not waiting:
                raise _NotPlain
            indent, entries, items = waiting.pop()
        if column > indent or (dash is not None and items is None):  # this line begins the value of `key`
            if key is None or entries is None or len(waiting) > MAX_DEPTH:
                raise _NotPlain
            waiting.append((indent, entries, None))
            indent = column
            if dash is not None:
                items = []
                entries[key.text] = (key, SequenceNode(items, number, column + 1))
                entries = None
            else:
                inner: _Entries = {}
                entries[key.text] = (key, MappingNode(inner, number, column + 1))
                entries = inner
            key = None
        elif key is not None:
            raise _NotPlain
        if dash is not None:
            assert items is not None
            if name is None:
                items.append(_value(rest, line, number))
                continue
            waiting.append((indent, None, items))
            indent = column + len(dash)
            entries = {}
            items.append(MappingNode(entries, number, indent + 1))
            items = None
        assert entries is not None and name is not None
        if name in entries:
            raise _NotPlain
        name_node = ScalarNode(name, None, None, number, indent + 1)
        if not rest or rest[0] == "#":
            key = name_node
        elif rest[0] in "|>":
            node, read_until = _block(lines, number, len(line) - len(rest), indent)
            entries[name] = (name_node, node)
        else:
            entries[name] = (name_node, _value(rest, line, number))
    if key is not None:
        raise _NotPlain
    return around[""][1]


def _value(rest: str, line: str, number: int) -> Node:
    """The value that ends a line."""
    start = len(line) - len(rest)
    first = rest[:1]
    if first == "{" and _FLAT.fullmatch(rest):
        return _flat(rest, start, number)
    if first and first in "[{":
        node, end = _flow(line, start, number, 0)
    elif first and first in "'\"":
        found = _QUOTED.match(line, start)
        if found is None:
            raise _NotPlain
        node = ScalarNode(found[found.lastindex or 0], first, None, number, start + 1)
        end = found.end()
    else:
        found = _BARE.match(line, start)
        if found is None:
            raise _NotPlain
        node = ScalarNode(found[0], None, None, number, start + 1)
        end = found.end()
    if end != len(line) and _END.fullmatch(line, end) is None:
        raise _NotPlain
    return node


def _flat(text: str, start: int, number: int) -> MappingNode:
    """The mapping of a text `{key: value, key: value}` with bare values and single spaces; faster than `_flow`."""
    entries: _Entries = {}
    pairs = text[1:-1].split(", ")
    column = start + 2
    for pair in pairs:
        name, _, value = pair.partition(": ")
        key = ScalarNode(name, None, None, number, column)
        entries[name] = key, ScalarNode(value, None, None, number, column + len(name) + 2)
        column += len(pair) + 2
    if len(entries) < len(pairs):
        raise _NotPlain
    return MappingNode(entries, number, start + 1)


def _flow(line: str, start: int, number: int, depth: int) -> tuple[Node, int]:
    """The list or mapping whose bracket is at `start`, and the index after its end."""
    is_mapping = line[start] == "{"
    closing = "}" if is_mapping else "]"
    entries: _Entries = {}
    items: list[Node] = []
    at = start + 1
    mark = ","
    if line[at : at + 1] == closing:
        at, mark = at + 1, closing
    while mark == ",":
        found = (_FLOW_PAIR if is_mapping else _FLOW_ITEM).match(line, at)
        if found is None or depth > MAX_DEPTH:
            raise _NotPlain
        value, at = _flow_value(found, number, depth)
        if not is_mapping:
            items.append(value)
        elif found["key"] in entries:
            raise _NotPlain
        else:
            entries[found["key"]] = ScalarNode(found["key"], None, None, number, found.start("key") + 1), value
        end = _FLOW_NEXT.match(line, at)
        if end is None:
            raise _NotPlain
        at, mark = end.end(), end[1]
    if mark != closing:
        raise _NotPlain
    node = MappingNode(entries, number, start + 1) if is_mapping else SequenceNode(items, number, start + 1)
    return node, at


def _flow_value(found: re.Match[str], number: int, depth: int) -> tuple[Node, int]:
    """The value at the end of a match inside brackets, and the index after its end."""
    end = found.end()
    bare, single, double = found["bare"], found["single"], found["double"]
    if bare is not None:
        return ScalarNode(bare, None, None, number, end - len(bare) + 1), end
    if single is not None:
        return ScalarNode(single, "'", None, number, end - len(single) - 1), end
    if double is not None:
        return ScalarNode(double, '"', None, number, end - len(double) - 1), end
    return _flow(found.string, end, number, depth + 1)


def _block(lines: list[str], number: int, start: int, indent: int) -> tuple[ScalarNode, int]:
    """The text of the lines after a `|` or `>` at column `start` of line `number`, and the number of the last one."""
    header = lines[number - 1]
    found = _BLOCK.match(header, start)
    if found is None or _END.fullmatch(header, found.end()) is None:
        raise _NotPlain
    texts: list[str] = []
    inner = 0
    is_over = False
    for at in range(number, len(lines)):
        line = lines[at]
        text = line.lstrip(" ")
        column = len(line) - len(text)
        if not line:
            is_over = True
        elif column <= indent:
            break
        elif is_over or not text or text[-1] == " " or (texts and column != inner):
            raise _NotPlain
        else:
            inner = column
            texts.append(text)
    last = number + len(texts)
    is_stripped = bool(found[2])
    if not texts or (last == len(lines) and not is_stripped):
        raise _NotPlain
    text = (" " if found[1] == ">" else "\n").join(texts) + ("" if is_stripped else "\n")
    return ScalarNode(text, found[1], None, number, start + 1), last
