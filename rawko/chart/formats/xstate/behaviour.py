"""Converts guards, actions and delays of XState JSON to those of the chart.

JSON can only name functions. XState's built-in actions and guards are functions too; some tools write them as
`{"type": "xstate.raise", "params": {...}}` or `{"type": "and", "guards": [...]}`, and both forms are recognised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rawko.chart.definition import (
    Action,
    And,
    Arguments,
    AssignAction,
    CallAction,
    CancelAction,
    Delay,
    EmitAction,
    FixedDelay,
    Guard,
    GuardCall,
    InState,
    Json,
    LiteralArgument,
    LogAction,
    NamedDelay,
    Not,
    Or,
    Position,
    RaiseAction,
    SendAction,
)
from rawko.chart.errors import shown
from rawko.chart.expressions.parser import parse_call, parse_guard
from rawko.chart.expressions.tokens import ExpressionError
from rawko.chart.formats.names import printable
from rawko.chart.formats.xstate.source import Source
from rawko.chart.formats.xstate.tree import Tree, XState, path_of
from rawko.chart.formats.yaml_writer import delay_text
from rawko.chart.reading.reader import Unreadable
from rawko.chart.reading.values import MAX_DELAY_MS
from rawko.chart.source.nodes import MappingNode, Node, ScalarNode

BUILT_IN = "xstate."
_GUARD_PREFIXES = ("xstate.guard:", "xstate.")


class Behaviour:
    """Reads guards and actions of one machine."""

    def __init__(self, source: Source, tree: Tree) -> None:
        self._source = source
        self._tree = tree

    # ------------------------------------------------------------ guards

    def guard(self, node: Node) -> Guard:
        """A guard: a name, a name with params, or `and`, `or`, `not`, `stateIn` written as data."""
        if isinstance(node, MappingNode):
            return self._guard_object(node)
        return self._guard_call(self._source.text(node, "the name of a guard, or an object with 'type'"), (), node)

    def _guard_object(self, node: MappingNode) -> Guard:
        name = self._type(node, "guard")
        word = name
        for prefix in _GUARD_PREFIXES:
            word = word.removeprefix(prefix)
        if word in ("and", "or", "not") and self._parts(node):
            operands = tuple(self.guard(part) for part in self._parts(node))
            if word == "not":
                return Not(operands[0])
            return And(operands) if word == "and" else Or(operands)
        if word == "stateIn" and self._state_value(node) is not None:
            return self._state_in(node)
        self._source.keys(node, f"guard {shown(name)}", frozenset(("type", "params")))
        return self._guard_call(name, self._arguments(node), node)

    def _parts(self, node: MappingNode) -> list[Node]:
        """The operands of a composite guard, under any of the keys that tools use."""
        for holder in (node, self._source.value(node, "params")):
            if isinstance(holder, MappingNode):
                for key in ("guards", "guard"):
                    found = self._source.items(self._source.value(holder, key))
                    if found:
                        return found
        return []

    def _guard_call(self, name: str, arguments: Arguments, node: Node) -> Guard:
        place = self._source.position(node)
        if not arguments and not name.isidentifier():
            try:
                return parse_guard(name, lambda offset: place)
            except ExpressionError:
                pass
        return GuardCall(self._source.identifier("guard", name, node), arguments, place)

    # ------------------------------------------------------------ stateIn

    def _state_value(self, node: MappingNode) -> Node | None:
        for holder in (node, self._source.value(node, "params")):
            if isinstance(holder, MappingNode):
                for key in ("stateValue", "state", "value"):
                    found = self._source.value(holder, key)
                    if found is not None:
                        return found
        return None

    def _state_in(self, node: MappingNode) -> Guard:
        value = self._state_value(node)
        assert value is not None
        tests = tuple(InState(state.name, self._source.position(value)) for state in self._states(value))
        return tests[0] if len(tests) == 1 else And(tests)

    def _states(self, value: Node, above: XState | None = None) -> list[XState]:
        """The innermost states that a state value names."""
        start = above or self._tree.root
        if isinstance(value, MappingNode):
            if not value.entries:
                return [start]
            return [
                found
                for key, inner in value.entries.values()
                for found in self._states(inner, self._known(start.children.get(key.text), key))
            ]
        text = self._source.text(value, "a state value: '#id', a path, or an object")
        if text.startswith("#"):
            return [self._known(self._tree.state_by_id(text), value)]
        return [self._known(self._tree.below(start, path_of(text)), value)]

    def _known(self, state: XState | None, node: Node) -> XState:
        if state is None:
            self._source.fail("unknown-state", node, "stateIn names a state that does not exist")
        return state

    # ------------------------------------------------------------ actions

    def actions(self, node: Node | None) -> tuple[Action, ...]:
        """One action or a list of them; actions without a counterpart are reported as losses and left out."""
        found: list[Action] = []
        for item in self._source.items(node):
            try:
                action = self._action(item)
            except Unreadable:
                continue
            if action is not None:
                found.append(action)
        return tuple(found)

    def _action(self, node: Node) -> Action | None:
        if not isinstance(node, MappingNode):
            name = self._source.text(node, "the name of an action, or an object with 'type'")
            return self._call(name, (), node)
        name = self._type(node, "action")
        if name.startswith(BUILT_IN):
            return self._built_in(name, node)
        self._source.keys(node, f"action {shown(name)}", frozenset(("type", "params")))
        return self._call(name, self._arguments(node), node)

    def _call(self, name: str, arguments: Arguments, node: Node) -> Action:
        place = self._source.position(node)
        if not arguments and not name.isidentifier():
            try:
                return parse_call(name, lambda offset: place)
            except ExpressionError:
                pass
        return CallAction(self._source.identifier("action", name, node), arguments, place)

    def _built_in(self, name: str, node: MappingNode) -> Action | None:
        params = self._source.value(node, "params")
        given = self._source.json(params if params is not None else node)
        make = _BUILT_INS.get(name.removeprefix(BUILT_IN))
        action = make(given, self._source.position(node)) if make and isinstance(given, dict) else None
        if action is None:
            self._source.lost(node, f"action {shown(name)} is left out: it has no counterpart here as data")
        return action

    # ------------------------------------------------------------ parts

    def _type(self, node: MappingNode, what: str) -> str:
        value = self._source.value(node, "type")
        if value is None:
            self._source.fail("missing-key", node, f"an object that describes the {what} needs the key 'type'")
        return self._source.text(value, f"the name of the {what}")

    def _arguments(self, node: MappingNode) -> Arguments:
        params = self._source.value(node, "params")
        if params is None:
            return ()
        if not isinstance(params, MappingNode):
            self._source.lost(params, "params that are no object are left out: arguments have names here")
            return ()
        found: list[tuple[str, LiteralArgument]] = []
        for key, value in params.entries.values():
            if key.text.isidentifier():
                found.append((key.text, LiteralArgument(self._source.json(value))))
            else:
                self._source.lost(key, f"parameter {shown(key.text)} is left out: names of arguments are identifiers")
        return tuple(found)

    def delay(self, node: ScalarNode) -> Delay:
        """A key of `after`: milliseconds, or the name of a delay."""
        milliseconds = _number(node.text)
        if milliseconds is None:
            return NamedDelay(self._source.identifier("delay", node.text, node), self._source.position(node))
        if not 0 <= milliseconds <= MAX_DELAY_MS:
            self._source.fail("invalid-delay", node, f"{shown(node.text)} ms is not between 0 and 100 years")
        return FixedDelay(milliseconds, delay_text(milliseconds))


def _number(text: str) -> float | None:
    """JavaScript's `+text` for common number formats; None if the text is not a number."""
    try:
        return float(text.strip() or 0) if "_" not in text else None
    except ValueError:
        return None


def _event(given: Json) -> tuple[str, tuple[tuple[str, Json], ...]] | None:
    """Name and payload of an event object, or of an event given by its name."""
    if isinstance(given, str):
        given = {"type": given}
    if not isinstance(given, dict) or not _is_name(given.get("type")) or "*" in given["type"]:
        return None
    return given["type"], tuple((key, value) for key, value in given.items() if key != "type")


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and printable(value) == value


def _delay_of(given: Json) -> Delay | None:
    if isinstance(given, (int, float)) and not isinstance(given, bool) and 0 <= given <= MAX_DELAY_MS:
        return FixedDelay(float(given), delay_text(given))
    return NamedDelay(given) if isinstance(given, str) and given.isidentifier() else None


def _send(given: dict[str, Json], place: Position) -> Action | None:
    event = _event(given.get("event"))
    to = given.get("to")
    id = given.get("id")
    if event is None or not all(name is None or _is_name(name) for name in (to, id)):
        return None
    return SendAction(*event, to=to, delay=_delay_of(given.get("delay")), id=id, position=place)


def _raise(given: dict[str, Json], place: Position) -> Action | None:
    if given.get("delay") is not None:
        return _send({**given, "to": None}, place)
    event = _event(given.get("event"))
    return event and RaiseAction(*event, position=place)


def _emit(given: dict[str, Json], place: Position) -> Action | None:
    event = _event(given.get("event"))
    return event and EmitAction(*event, position=place)


def _cancel(given: dict[str, Json], place: Position) -> Action | None:
    id = given.get("id", given.get("sendId"))
    return CancelAction(str(id), place) if _is_name(id) else None


def _log(given: dict[str, Json], place: Position) -> Action | None:
    message = given.get("message", given.get("value", given.get("label")))
    return LogAction(message, place) if isinstance(message, str) else None


def _assign(given: dict[str, Json], place: Position) -> Action | None:
    values: Any = given.get("assignment", given)
    return AssignAction(tuple(values.items()), place) if isinstance(values, dict) and "type" not in values else None


_BUILT_INS: dict[str, Callable[[dict[str, Json], Position], Action | None]] = {
    "raise": _raise,
    "sendTo": _send,
    "emit": _emit,
    "cancel": _cancel,
    "log": _log,
    "assign": _assign,
}
