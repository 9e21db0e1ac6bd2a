"""Readers of `migrate`: how snapshots of earlier versions of a chart are changed for this one.

Guards and actions are always names here, even in a trusted chart, because migrations call them without a machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rawko.chart.definition import Action, AssignAction, CallAction, Migration, Move
from rawko.chart.grammar import MIGRATION, MOVE
from rawko.chart.reading import behaviour, values
from rawko.chart.reading.reader import Reader, Unreadable
from rawko.chart.source.nodes import MappingNode, Node, ScalarNode, SequenceNode


def migrations(reader: Reader, node: Node) -> tuple[Migration, ...]:
    """`migrate`: one mapping or a list, the oldest version first."""
    items: list[Node] = node.items if isinstance(node, SequenceNode) else [node]
    was_trusted, reader.is_trusted = reader.is_trusted, False
    try:
        return tuple(reader.each(items, lambda item: _migration(reader, item)))
    finally:
        reader.is_trusted = was_trusted


def _migration(reader: Reader, node: Node) -> Migration:
    mapping: MappingNode = reader.mapping(node, "a mapping with 'from' and 'states'")
    given = reader.element(mapping, MIGRATION)
    actions = given.get("action", ())
    return Migration(given.get("from", ""), given.get("states", {}), actions, reader.position(mapping))


def changes(reader: Reader, node: Node) -> tuple[Action, ...]:
    """`action`: names of bound actions, and assignments; nothing else is accepted."""
    found = behaviour.actions(reader, node)
    if not all(isinstance(action, (CallAction, AssignAction)) for action in found):
        message = "a migration changes the context alone; accepted: names of bound actions, and 'assign'"
        reader.fail("wrong-type", node, message)
    return found


def moves(reader: Reader, node: Node) -> Mapping[str, tuple[Move, ...]]:
    """`states`: the moves of each state of the earlier version; the first move whose guard is true is taken."""
    mapping = reader.mapping(node, "a mapping of states to what stands in their places, such as 'dark: off'")
    found: dict[str, tuple[Move, ...]] = {}
    for key, value in mapping.entries.values():
        try:
            items: list[Node] = value.items if isinstance(value, SequenceNode) else [value]
            if not items:
                reader.wrong_type(value, "a state, or a list of moves")
            found[values.name(reader, key)] = tuple(reader.each(items, lambda item: _move(reader, item)))
        except Unreadable:
            continue
    return MappingProxyType(found)


def _move(reader: Reader, node: Node) -> Move:
    if isinstance(node, ScalarNode):
        return Move(values.name(reader, node), None, reader.position(node))
    mapping = reader.mapping(node, "a state, or a mapping with 'guard' and 'target'")
    given = reader.element(mapping, MOVE)
    if "target" not in given:
        raise Unreadable
    return Move(given["target"], given.get("guard"), reader.position(mapping.entries["target"][1]))
