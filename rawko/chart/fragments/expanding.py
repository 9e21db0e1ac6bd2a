"""Expands the `use` of every state in the node tree of a chart, so that readers of charts see plain states.

Rules of joining: the state's own keys come before the fragment's. If both have a list under one key, the lists are
joined, own items first, so that the chart's own transitions are tried first; `after` and `meta` are joined key by key,
the own `description` wins, and any other key may be in only one of them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NoReturn, TypeVar

from rawko.chart.definition import Position
from rawko.chart.errors import ChartError, Diagnostic, hint, listed, shown
from rawko.chart.fragments.copying import Copy
from rawko.chart.fragments.files import FragmentFiles, FragmentUnreadable, from_folder, is_path, shipped_fragment
from rawko.chart.fragments.fragment import PARAMETER_TYPES, Fragment, is_nothing, read_fragment
from rawko.chart.grammar import MAX_NAME, REFUSED
from rawko.chart.reading.reader import Reader, Unreadable
from rawko.chart.reading.types import READERS
from rawko.chart.reading.uses import UseDraft, uses
from rawko.chart.source.nodes import MappingNode, Node, ScalarNode, SequenceNode

T = TypeVar("T", ScalarNode, SequenceNode, MappingNode)

_JOINED: Final = frozenset(
    ("tags", "on entry", "on exit", "transitions", "always", "on done", "invoke", "contract")
)  # fmt: skip
_MERGED: Final = frozenset(("after", "meta"))
MAX_SHOWN: Final = 3
"""The most places of use that one message names."""
MAX_USES: Final = 16
"""The deepest nesting of fragments that use fragments."""


class Expander:
    """Expands the fragments of one chart.

    Attributes:
        files: Files of the fragments that were read, as paths from the chart's folder, without shipped ones.
        uses: Positions at which each fragment's file is used, by the file's name in positions.
    """

    def __init__(self, reader: Reader, files: FragmentFiles, folder: str) -> None:
        self._reader, self._read, self._folder = reader, files, folder
        self._known: dict[str, Fragment | None] = {}
        self._places: dict[str, str] = {}
        self.files: list[str] = []
        self.uses: dict[str, list[Position]] = {}

    def chart(self) -> None:
        """Expand all states of the chart."""
        node: Node = self._reader.document.root
        for key in ("statechart", "root state"):
            found = node.entries.get(key) if isinstance(node, MappingNode) else None
            if found is None:
                return
            node = found[1]
        self._state(node, (), None)

    def _state(self, state: Node, within: tuple[str, ...], user: Fragment | None) -> None:
        """Expand a state and all states inside it.

        Args:
            within: The fragments that the state comes from, the outermost first.
            user: The innermost of them.
        """
        pending = [state]
        while pending:
            node = pending.pop()
            if not isinstance(node, MappingNode):
                continue
            if "use" in node.entries:
                try:
                    self._expand(node, within, user)
                except Unreadable:
                    self._reader.is_partial = True
            for key in ("parallel states", "states"):
                children = node.entries.get(key)
                if children is not None and isinstance(children[1], SequenceNode):
                    pending += reversed(children[1].items)

    def _expand(self, state: MappingNode, within: tuple[str, ...], user: Fragment | None) -> None:
        key, node = state.entries.pop("use")
        kind = state.entries.get("type")
        if kind is not None and isinstance(kind[1], ScalarNode) and kind[1].text in REFUSED:
            self._fail("conflicting-keys", key, f"a {kind[1].text} state has no 'use'")
        name = state.entries.get("name")
        if name is None or not isinstance(name[1], ScalarNode):
            raise Unreadable  # reading the state reports it
        before = len(self._reader.diagnostics)
        for use in uses(self._reader, node):
            fragment = self._fragment(use, within, user)
            body = Copy(self._reader, fragment, self._values(use, fragment), name[1].text).state()
            body.entries["name"] = name
            self._state(body, (*within, _key(fragment)), fragment)
            del body.entries["name"]
            self._join(state, body, fragment)
        if len(self._reader.diagnostics) > before:
            raise Unreadable

    # ------------------------------------------------------------ fragments

    def _fragment(self, use: UseDraft, within: tuple[str, ...], user: Fragment | None) -> Fragment:
        shown_name = shown(use.name)
        try:
            path = from_folder(use.name, _folder_of(user)) if is_path(use.name) else ""
            if (path or use.name) in within:
                circle = " → ".join((*within[within.index(path or use.name) :], path or use.name))
                self._fail("invalid-use", use.name_position, f"fragment {shown_name} uses itself: {circle}")
            if len(within) >= MAX_USES:
                self._fail("invalid-use", use.name_position, f"fragments use each other deeper than {MAX_USES} levels")
            known = path or use.name
            if known not in self._known:
                self._known[known] = self._load(path, use)
        except FragmentUnreadable as error:
            self._fail("unknown-fragment", use.name_position, str(error))
        self.uses[self._places[known]].append(use.position)
        found = self._known[known]
        if found is None:
            raise Unreadable
        return found

    def _load(self, path: str, use: UseDraft) -> Fragment | None:
        if path:
            self.files.append(path)
            file, text = posixpath.join(self._folder, path), self._read(path)
        else:
            shipped = shipped_fragment(use.name)
            file, text = str(shipped), shipped.read_text(encoding="utf-8")
        self._places[path or use.name] = file
        self.uses[file] = []
        found: Fragment | None = None
        try:
            found, defects = read_fragment(text, file=file, path=path, is_trusted=self._reader.is_trusted)
        except ChartError as error:
            defects = list(error.diagnostics)
        for defect in defects:
            self._reader.report(defect.code, defect.position, defect.message)
        return None if defects else found

    def _values(self, use: UseDraft, fragment: Fragment) -> Mapping[str, Node | None]:
        """A node for each parameter and exit; all mistakes are reported before Unreadable is raised."""
        before = len(self._reader.diagnostics)
        what = f"fragment {fragment.name!r}"
        self._refuse_unknown(use.arguments, fragment.parameters, f"is no parameter of {what}")
        self._refuse_unknown(use.exits, fragment.exits, f"is no exit of {what}")
        values: dict[str, Node | None] = {}
        for name, parameter in fragment.parameters.items():
            given = use.arguments.get(name)
            if given is None and parameter.default is None:
                message = f"{what} needs the parameter {name!r} ({parameter.type}) under 'with'"
                self._reader.report("invalid-use", use.position, message)
                continue
            node = given[1] if given is not None else parameter.default
            assert node is not None
            if is_nothing(self._reader, node) and (given is None or _may_be_nothing(self._reader, parameter.default)):
                values[name] = None
                continue
            if given is None:
                self._note_file(node, fragment.file)
            else:
                self._check(node, parameter.type, f"parameter {name!r} of {what}")
            values[name] = node
        for name in fragment.exits:
            if name in use.exits:
                values[name] = use.exits[name][1]
            else:
                message = f"{what} needs the exit {name!r} under 'exits': the state that it leads to"
                self._reader.report("invalid-use", use.position, message)
        if len(self._reader.diagnostics) > before:
            raise Unreadable
        return values

    def _refuse_unknown(self, given: Mapping[str, tuple[ScalarNode, Node]], known: object, what: str) -> None:
        names = list(known) if isinstance(known, (Mapping, tuple)) else []
        for name, (key, _) in given.items():
            if name not in names:
                message = f"{shown(name)} {what}{hint(name[:MAX_NAME], names, 'accepted')}"
                self._reader.report("invalid-use", key, message)

    def _check(self, node: Node, kind: str, what: str) -> None:
        """Read an argument according to its type; defects are reported with the parameter's name."""
        before = len(self._reader.diagnostics)
        try:
            READERS[PARAMETER_TYPES[kind]](self._reader, node)
        except Unreadable:
            pass
        found = self._reader.diagnostics
        found[before:] = [
            replace(one, code="invalid-use", message=f"{what} ({kind}): {one.message}") for one in found[before:]
        ]

    def _note_file(self, node: Node, file: str) -> None:
        """Record the file of a default value, whose nodes are used without copying."""
        document = self._reader.document
        pending = [node]
        while pending:
            one = pending.pop()
            document.files[id(one)] = file
            document.kept.append(one)
            if isinstance(one, SequenceNode):
                pending += one.items
            elif isinstance(one, MappingNode):
                for pair in one.entries.values():
                    pending += pair

    # ------------------------------------------------------------ joining

    def _join(self, state: MappingNode, body: MappingNode, fragment: Fragment) -> None:
        own = state.entries
        for key, (key_node, node) in body.entries.items():
            if key not in own:
                own[key] = (key_node, node)
            elif key in _JOINED:
                own[key] = (own[key][0], self._joined(key, own[key][1], node))
            elif key in _MERGED:
                own[key] = (own[key][0], self._merged(key, own[key][1], node))
            elif key != "description":
                message = f"{key!r} stands in fragment {fragment.name!r}, too; a state has it once; "
                accepted = listed(sorted(_JOINED | _MERGED))
                self._reader.report("conflicting-keys", own[key][0], f"{message}joined are {accepted}")

    def _joined(self, key: str, own: Node, other: Node) -> Node:
        items = [*self._items(key, own), *self._items(key, other)]
        return self._new(SequenceNode(items, own.line, own.column), own)

    def _items(self, key: str, node: Node) -> list[Node]:
        if isinstance(node, SequenceNode):
            return node.items
        if self._reader.is_trusted and isinstance(node, ScalarNode) and key in ("on entry", "on exit"):
            code = self._new(ScalarNode("python", None, None, node.line, node.column), node)
            return [self._new(MappingNode({"python": (code, node)}, node.line, node.column), node)]
        return [node]

    def _merged(self, key: str, own: Node, other: Node) -> Node:
        if not isinstance(own, MappingNode) or not isinstance(other, MappingNode):
            return own  # reading it reports that it is no mapping
        entries = dict(own.entries)
        for name, (key_node, node) in other.entries.items():
            if name not in entries:
                entries[name] = (key_node, node)
            elif key == "after":
                entries[name] = (entries[name][0], self._joined(key, entries[name][1], node))
        return self._new(MappingNode(entries, own.line, own.column), own)

    def _new(self, node: T, like: Node) -> T:
        document = self._reader.document
        document.kept.append(node)
        file = document.files.get(id(like))
        if file is None:
            document.files.pop(id(node), None)
        else:
            document.files[id(node)] = file
        return node

    def _fail(self, code: str, where: Node | Position, message: str) -> NoReturn:
        self._reader.fail(code, where, message)


def _key(fragment: Fragment) -> str:
    return fragment.path or fragment.name


def _folder_of(user: Fragment | None) -> str:
    return posixpath.dirname(user.path) if user is not None else ""


def _may_be_nothing(reader: Reader, default: Node | None) -> bool:
    return default is not None and is_nothing(reader, default)


def with_uses(diagnostics: Iterable[Diagnostic], used: Mapping[str, Sequence[Position]]) -> list[Diagnostic]:
    """The diagnostics; one in a fragment's file names the places of its use, and is reported once for all uses."""
    found: dict[tuple[str, Position, str], Diagnostic] = {}
    for one in diagnostics:
        places = list(dict.fromkeys(used.get(one.position.file, ())))
        more = f" and {len(places) - MAX_SHOWN} more" if len(places) > MAX_SHOWN else ""
        end = f"; used in {', '.join(map(str, places[:MAX_SHOWN]))}{more}" if places else ""
        told = replace(one, message=f"{one.message}{end}", correction=None) if places else one
        found.setdefault((told.code, told.position, told.message), told)
    return list(found.values())
