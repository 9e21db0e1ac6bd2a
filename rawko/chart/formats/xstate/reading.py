"""Imports XState v5 machine JSON as a `Chart`: states, invocations, context and the machine's own keys.

`transitions` reads transitions, `behaviour` guards and actions. A feature without a counterpart in the chart language
is reported as a loss; what XState 5 refuses, or reads differently from version 4, is an error.
"""

from __future__ import annotations

from typing import Any

from rawko.chart.assemble import assemble
from rawko.chart.definition import Action, AssignAction, Chart, Json
from rawko.chart.errors import ChartDefinitionError, hint, listed, shown
from rawko.chart.formats.exchange import Imported
from rawko.chart.formats.json_nodes import read_json
from rawko.chart.formats.names import printable
from rawko.chart.formats.xstate.behaviour import Behaviour
from rawko.chart.formats.xstate.source import Source
from rawko.chart.formats.xstate.transitions import TransitionReader
from rawko.chart.formats.xstate.tree import Tree, XState, text_of
from rawko.chart.lint.legality import legality
from rawko.chart.reading.reader import Unreadable, described
from rawko.chart.reading.states import ChartDraft, StateDraft
from rawko.chart.reading.transitions import EntryDraft
from rawko.chart.source.nodes import MappingNode, Node, ScalarNode

DEFAULT_ID = "(machine)"
"""XState's id of a machine that gives none."""

_STATE_KEYS = frozenset(
    (
        "id", "key", "type", "initial", "states", "on", "entry", "exit", "always", "after", "invoke", "onDone",
        "history", "target", "tags", "meta", "description", "output",
    )
)  # fmt: skip
_MACHINE_KEYS = _STATE_KEYS | {"version", "context"}
_LEAVING = ("on", "always", "after", "invoke", "onDone")
_MARKED = {"initial": "initial", "memory": "target", "on done": "onDone", "output": "output"}
"""Keys of the chart to which diagnostics point, and their names in XState."""
_TYPES = ("atomic", "compound", "parallel", "final", "history")


def import_xstate(text: str, *, file: str = "<machine>") -> Imported:
    """The chart of a machine's JSON, as `createMachine` of XState 5 takes it.

    Args:
        text: One JSON object.
        file: Name of the file in positions.

    Raises:
        ChartSyntaxError: The text is not JSON.
        ChartDefinitionError: It is not a machine of XState 5; `diagnostics` holds every defect.
    """
    source = Source(read_json(text, file))
    chart = _chart(source)
    defects = list(source.reader.diagnostics)
    if chart is not None and not source.reader.is_partial:
        defects += legality(chart)
    if chart is None or defects:
        raise ChartDefinitionError(sorted(defects))
    return Imported(chart, source.losses.sorted)


def _chart(source: Source) -> Chart | None:
    try:
        root = source.reader.mapping(source.document.root, "an object: a machine's configuration")
    except Unreadable:
        return None
    return _Machine(source, root).chart()


class _Machine:
    def __init__(self, source: Source, root: MappingNode) -> None:
        self._source = source
        self._root = root
        self._tree = Tree(root, text_of(root, "id") or DEFAULT_ID)
        self._behaviour = Behaviour(source, self._tree)
        self._transition_reader = TransitionReader(source, self._tree, self._behaviour)

    def chart(self) -> Chart:
        draft = self._state(self._tree.root)
        values: dict[str, Any] = {"name": self._tree.root.name, "root state": draft}
        version = self._source.value(self._root, "version")
        if isinstance(version, ScalarNode):
            values["version"] = version.text
        return assemble(
            ChartDraft(self._source.position(self._root), values, {}), self._source.reader, may_have_code=False
        )

    # ------------------------------------------------------------ states

    def _state(self, state: XState) -> StateDraft:
        node, source = state.node, self._source
        known = _STATE_KEYS if state.parent else _MACHINE_KEYS
        source.keys(node, f"state {shown(state.key)}", known)
        self._check(state)
        values: dict[str, Any] = {}
        for key, read in (
            ("type", self._type),
            ("description", self._description),
            ("tags", self._tags),
            ("meta", self._meta),
            ("on entry", self._entry),
            ("on exit", lambda each: self._behaviour.actions(source.value(each.node, "exit"))),
            ("initial", self._initial),
            ("memory", self._memory),
            ("output", self._output),
        ):
            try:
                found = read(state)
            except Unreadable:
                continue
            if found is not None and (found or key == "output"):
                values[key] = found
        if state.kind in ("final", "history"):
            self._tell_leaving(state)
        else:
            values |= self._transition_reader.of(state)
        if state.children:
            drafts = [self._state(child) for child in state.children.values()]
            values["parallel states" if state.kind == "parallel" else "states"] = drafts
        place = source.position(node)
        found_at = {name: source.position(node.entries[key][1]) for name, key in _MARKED.items() if key in node.entries}
        keys = {name: position for name, position in found_at.items() if name in values}
        if state.kind == "compound":
            keys.setdefault("initial", place)  # a missing one is already reported
        return StateDraft(place, state.name, place, values, keys)

    def _check(self, state: XState) -> None:
        """Report what XState would refuse, and what the tree could not be built from."""
        report, node = self._source.reader.report, state.node
        if state.kind not in _TYPES:
            message = f"there is no type {shown(state.kind)}{hint(state.kind, _TYPES, 'types')}"
            report("invalid-value", node.entries["type"][1], message)
        if state.children and state.kind in ("final", "history", "atomic"):
            report("conflicting-keys", node, f"state {shown(state.key)} of type {state.kind!r} has states of its own")
        states = self._source.value(node, "states")
        if states is not None and not isinstance(states, MappingNode):
            report("wrong-type", states, f"expected an object of states, found {described(states)}")
        elif states is not None:
            for _, child in states.entries.values():
                if not isinstance(child, MappingNode):
                    report("wrong-type", child, f"expected an object: a state, found {described(child)}")

    def _tell_leaving(self, state: XState) -> None:
        for key in _LEAVING:
            if key in state.node.entries:
                message = f"{key!r} of {state.kind} state {shown(state.key)} is left out: it is never exited here"
                self._source.lost(state.node.entries[key][0], message)

    def _type(self, state: XState) -> str | None:
        if state.kind == "final":
            return "final"
        if not state.is_history:
            return None
        return "deep history" if text_of(state.node, "history") == "deep" else "shallow history"

    def _description(self, state: XState) -> str | None:
        value = self._source.value(state.node, "description")
        return None if value is None else self._source.text(value, "a text")

    def _tags(self, state: XState) -> tuple[str, ...]:
        items = self._source.items(self._source.value(state.node, "tags"))
        return tuple(printable(self._source.text(item, "a tag")) for item in items)

    def _meta(self, state: XState) -> Json:
        value = self._source.value(state.node, "meta")
        if value is None or isinstance(value, MappingNode):
            return value and self._source.json(value)
        self._source.lost(value, "meta that is no object is left out")
        return None

    def _entry(self, state: XState) -> tuple[Action, ...]:
        """Entry actions; at the root, an assignment of the machine's context comes first."""
        actions = self._behaviour.actions(self._source.value(state.node, "entry"))
        context = None if state.parent else self._source.value(state.node, "context")
        if context is None:
            return actions
        values = self._source.json(self._source.reader.mapping(context, "an object: the first context"))
        return (AssignAction(tuple(values.items()), self._source.position(context)), *actions) if values else actions

    def _output(self, state: XState) -> Json:
        value = self._source.value(state.node, "output")
        if value is None:
            return None
        if state.parent is not None and state.kind != "final":
            message = f"output of {shown(state.key)} is left out: the state is neither final nor the root"
            self._source.lost(value, message)
            return None
        found = self._source.json(value)
        if isinstance(found, str):
            self._source.lost(value, "an output that is a text is left out: a text would name a bound output function")
            return None
        return found

    # ------------------------------------------------------------ defaults

    def _initial(self, state: XState) -> EntryDraft | None:
        if state.kind != "compound":
            return None
        value = self._source.value(state.node, "initial")
        if value is None:
            message = f"compound state {shown(state.key)} has no initial; children: {listed(state.children) or 'none'}"
            self._source.fail("missing-initial", state.node, message)
        if not isinstance(value, MappingNode):
            return EntryDraft((self._child(state, value),))
        self._source.keys(value, "initial", frozenset(("target", "actions", "meta", "description")))
        target = self._source.value(value, "target")
        if target is None:
            self._source.fail("missing-key", value, "initial needs the key 'target'")
        return EntryDraft((self._child(state, target),), self._behaviour.actions(self._source.value(value, "actions")))

    def _child(self, state: XState, node: Node) -> str:
        key = self._source.text(node, "the key of a child")
        if key not in state.children:
            end = hint(key, state.children, "children")
            self._source.fail("unknown-state", node, f"initial {shown(key)} of {shown(state.key)} does not exist{end}")
        return state.children[key].name

    def _memory(self, state: XState) -> EntryDraft | None:
        if not state.is_history:
            return None
        names: list[str] = []
        for item in self._source.items(self._source.value(state.node, "target")):
            text = self._source.text(item, "a target")
            found = self._tree.memory(state, text)
            if found is None:
                message = f"history {shown(state.key)} leads to {shown(text)}, which does not exist"
                self._source.fail("unknown-target", item, message)
            names.append(found.name)
        return EntryDraft(tuple(names)) if names else None
