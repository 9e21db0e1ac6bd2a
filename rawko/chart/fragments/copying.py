"""Copies the state of a fragment for one use: parameters are replaced by values, inner names get the user's name.

For the state `fetching` with {within: 10m} and {late: broken}, and a fragment with the child `working`:

    initial: working                          initial: fetching.working
    after: {$within: $late}                   after: {10m: broken}
    transitions:                              transitions:
      - {event: done.invoke.fetch}              - {event: done.invoke.fetching.fetch}

A key or item is left out if its value is a parameter whose value is null.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NoReturn, TypeVar

from rawko.chart.definition import Position
from rawko.chart.errors import hint
from rawko.chart.fragments.fragment import IN_TEXTS, STATE_PARAMETER, Fragment
from rawko.chart.grammar import (
    ACTION,
    CONTRACT_ITEM,
    DEFAULT_ENTRY,
    EMIT,
    INVOKE,
    OUTCOME,
    RAISE,
    SEND,
    STATE,
    TRANSITION,
    USE,
    Element,
    Type,
)
from rawko.chart.reading.reader import Reader, Unreadable
from rawko.chart.source.composer import MAX_NODES
from rawko.chart.source.nodes import MappingNode, Node, ScalarNode, SequenceNode

T = TypeVar("T", ScalarNode, SequenceNode, MappingNode)

MAX_DEPTH: Final = 100
"""The deepest nesting of a copied state."""

_ELEMENTS: Final[Mapping[Type, Element]] = MappingProxyType(
    {
        Type.STATE: STATE,
        Type.STATES: STATE,
        Type.TRANSITIONS: TRANSITION,
        Type.OUTCOMES: OUTCOME,
        Type.INVOKE: INVOKE,
        Type.ENTRY: DEFAULT_ENTRY,
        Type.ACTIONS: ACTION,
        Type.CONTRACT: CONTRACT_ITEM,
        Type.SEND: SEND,
        Type.RAISE: RAISE,
        Type.EMIT: EMIT,
        Type.USE: USE,
    }
)
_OF_STATES: Final = frozenset((Type.TARGETS, Type.ENTRY, Type.OUTCOMES, Type.EXITS, Type.AFTER))
_OF_EVENTS: Final = frozenset((Type.EVENT, Type.EVENTS, Type.RAISE, Type.SEND, Type.EMIT))
_INSIDE: Final = {Type.AFTER: Type.OUTCOMES, Type.EXITS: Type.TARGETS}
"""For mappings whose keys are not keys of the grammar: the type of their values."""

_REFERENCE: Final = re.compile(r"\$(\$|[a-z_][a-z0-9_]*)")
_GENERATED: Final = re.compile(r"(done\.state|done\.invoke|error\.invoke|each\.invoke)\.(.+?)(\.\*)?")
_IN_STATE: Final = re.compile(r"""\b(in_state\(\s*)(['"])(.*?)\2""")


class Copy:
    """One copy of a fragment's state.

    Args:
        values: A node for each parameter and exit; None for null.
        state: Name of the state that uses the fragment.
    """

    def __init__(self, reader: Reader, fragment: Fragment, values: Mapping[str, Node | None], state: str) -> None:
        self._reader, self._fragment, self._state = reader, fragment, state
        self._values = values
        self._kept = reader.document.kept
        self._files = reader.document.files
        self._invocations = {self._with_values(name) for name in fragment.invocations}

    def state(self) -> MappingNode:
        """The state, without its name.

        Raises:
            Unreadable: The state cannot be copied; the reason has been reported.
        """
        found = self._node(self._fragment.state, Type.STATE, 0)
        assert isinstance(found, MappingNode)
        return found

    # ------------------------------------------------------------ nodes

    def _node(self, node: Node, kind: Type | None, depth: int) -> Node | None:
        if depth > MAX_DEPTH or len(self._kept) > MAX_NODES:
            what = f"nested deeper than {MAX_DEPTH} levels" if depth > MAX_DEPTH else f"more than {MAX_NODES} values"
            self._fail("too-large", node, f"fragment {self._fragment.name!r}: {what}")
        if isinstance(node, ScalarNode):
            return self._scalar(node, kind)
        if isinstance(node, SequenceNode):
            return self._sequence(node, kind, depth)
        return self._mapping(node, kind, depth)

    def _sequence(self, node: SequenceNode, kind: Type | None, depth: int) -> Node:
        items: list[Node] = []
        for item in node.items:
            found = self._node(item, kind, depth + 1)
            if isinstance(item, ScalarNode) and isinstance(found, SequenceNode):
                items += found.items  # a parameter that is a list is replaced by its items
            elif found is not None:
                items.append(found)
        return self._own(SequenceNode(items, node.line, node.column))

    def _mapping(self, node: MappingNode, kind: Type | None, depth: int) -> Node:
        element = _ELEMENTS.get(kind) if kind is not None else None
        entries: dict[str, tuple[ScalarNode, Node]] = {}
        for name, (key, value) in node.entries.items():
            row = element.keys.get(name) if element is not None else None
            inside = row.type if row is not None else _INSIDE.get(kind) if kind is not None else None
            if element is not None and isinstance(value, ScalarNode) and self._is_local(element, name, value):
                found: Node | None = self._text(value, self._inside(value.text))
            else:
                found = self._node(value, inside, depth + 1)
            written = self._key(key)
            if found is not None and written is not None:
                entries[written.text] = (written, found)
        if element is INVOKE and "id" not in entries and "src" in entries:
            src = entries["src"][1]
            if isinstance(src, ScalarNode):
                name_ = self._text(src, self._inside(src.text))
                entries["id"] = (self._own(ScalarNode("id", None, None, src.line, src.column)), name_)
        return self._own(MappingNode(entries, node.line, node.column))

    def _key(self, key: ScalarNode) -> ScalarNode | None:
        found = self._scalar(key, None)
        if not isinstance(found, ScalarNode | None):
            self._fail("invalid-use", key, f"{key.text!r} stands for a key; its value is a list or a mapping")
        return found

    def _is_local(self, element: Element, key: str, value: ScalarNode) -> bool:
        """Whether a value is a name that is local to the fragment, and therefore renamed."""
        if (element is STATE and key == "name") or (element is INVOKE and key == "id"):
            return True
        if (element is SEND and key == "id") or (element is ACTION and key == "cancel"):
            return value.text in self._fragment.sends
        return element is SEND and key == "to" and value.text in self._fragment.invocations

    # ------------------------------------------------------------ scalars

    def _scalar(self, node: ScalarNode, kind: Type | None) -> Node | None:
        text = node.text
        if "$" in text:
            whole = _REFERENCE.fullmatch(text)
            if whole is not None and whole[1] != "$" and node.is_plain:
                return self._value(node, whole[1])
            text = _REFERENCE.sub(lambda found: self._inserted(node, found[1]), text)
        if kind in _OF_STATES and text in self._fragment.states:
            text = self._inside(text)
        elif kind in _OF_EVENTS:
            text = self._event(text)
        elif kind is Type.GUARD and "in_state" in text:
            text = _IN_STATE.sub(self._in_state, text)
        return self._text(node, text)

    def _value(self, node: ScalarNode, name: str) -> Node | None:
        if name == STATE_PARAMETER:
            return self._text(node, self._state)
        if name not in self._values:
            end = hint(name, self._fragment.references, "known")
            self._fail("invalid-fragment", node, f"the fragment has no parameter or exit {name!r}{end}")
        return self._values[name]

    def _inserted(self, node: ScalarNode, name: str) -> str:
        """The value of a parameter inside a longer text."""
        if name == "$":
            return "$"
        found = self._value(node, name)
        kind = self._fragment.parameters[name].type if name in self._fragment.parameters else "name"
        if not isinstance(found, ScalarNode) or kind not in IN_TEXTS:
            message = f"'${name}' stands for nothing, a list or a mapping; inside a text only one word or number can"
            self._fail("invalid-use", node, message)
        return f"({found.text})" if kind == "guard" else found.text

    def _event(self, text: str) -> str:
        found = _GENERATED.fullmatch(text)
        if found is None:
            return text
        names = self._fragment.states if found[1] == "done.state" else self._invocations
        return f"{found[1]}.{self._inside(found[2])}{found[3] or ''}" if found[2] in names else text

    def _in_state(self, found: re.Match[str]) -> str:
        name = self._inside(found[3]) if found[3] in self._fragment.states else found[3]
        return f"{found[1]}{found[2]}{name}{found[2]}"

    def _inside(self, name: str) -> str:
        return f"{self._state}.{self._with_values(name)}"

    def _with_values(self, text: str) -> str:
        """A name with parameters replaced by their values; one without a text value stays and is reported elsewhere."""

        def value(found: re.Match[str]) -> str:
            node = self._values.get(found[1])
            return node.text if isinstance(node, ScalarNode) else found[0]

        return _REFERENCE.sub(value, text) if "$" in text else text

    def _text(self, node: ScalarNode, text: str) -> ScalarNode:
        return self._own(ScalarNode(text, node.style, node.tag, node.line, node.column), like=node)

    def _own(self, node: T, like: Node | None = None) -> T:
        """Record the file of a new node."""
        self._kept.append(node)
        file = self._files.get(id(like), self._fragment.file) if like is not None else self._fragment.file
        self._files[id(node)] = file
        return node

    def _fail(self, code: str, node: Node, message: str) -> NoReturn:
        file = self._files.get(id(node), self._fragment.file)
        self._reader.report(code, Position(file, node.line, node.column), message)
        raise Unreadable
