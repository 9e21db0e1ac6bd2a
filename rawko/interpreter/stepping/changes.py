"""What updates change in the context, computed before anything is changed, so that nothing needs an undo record.

assign(n=2), append("log", "x")         {"n": 2, "log": the vector with one more item}
append("log", 1), append("log", 2)      {"log": the vector with two more items}
assign(n=2), raise_("E")                None: `raise_` is more than a change of the context
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.data.freezing import FROZEN, TOO_LONG, TOO_LOW, freeze, freeze_item
from rawko.interpreter.data.updates import Append, Assign, Update, appended, assigned
from rawko.interpreter.data.values import Vector

_KINDS = frozenset({Assign, Append, type(None)})


def changes_of(updates: tuple[Any, ...], fields: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Update, ...]] | None:
    """New values of fields by name, and the updates with frozen values, for a context that has no model.

    Args:
        updates: As an action returned them.
        fields: The fields of the context before.

    Returns:
        None if an update is of another kind, or appends to something that is not a list.

    Raises:
        NotJsonError: A value is not JSON.
    """
    for update in updates:  # first: a vector that is appended to twice is copied
        if update.__class__ not in _KINDS:
            return None
    changes: dict[str, Any] = {}
    frozen: list[Update] = []
    for update in updates:
        if update.__class__ is Assign:
            update = frozen_assign(update)
            changes |= update.fields
            frozen.append(update)
        elif update is not None:
            name = update.field
            old = changes[name] if name in changes else fields.get(name)
            if old.__class__ is not Vector:
                return None
            item = freeze_item(update.item, name)
            changes[name] = old.appended(item)
            frozen.append(appended(name, item))
    return changes, tuple(frozen)


def frozen_assign(update: Assign) -> Assign:
    """The update with frozen values: the same if they are frozen already."""
    given = update.fields
    frozen: Any = given
    for name in given:
        value = given[name]
        kind = type(value)
        if kind is str or (kind is int and TOO_LOW < value < TOO_LONG) or kind in FROZEN:
            continue
        if frozen is given:
            frozen = {**given}
        frozen[name] = freeze(value, name)
    return update if frozen is given else assigned(frozen)
