"""Applies a chart's `migrate` rules one version after the other, to states and to the context.

Version 1 has a state `triage`, the present chart is version 3, and the snapshot is of version 1:

    from 1:  triage -> big, if is_large, else small     the guard sees the context of version 1
             action split_total                         makes the context of version 2
    from 2:  big -> huge

`triage` maps to `huge`, or to `small`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rawko.chart.definition import Action, AssignAction, CallAction, Chart, Migration, Move
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.compiled.functions import compile_action, compile_guard
from rawko.interpreter.data.context_model import ContextModel, FreeContext
from rawko.interpreter.data.events import Event, make_event
from rawko.interpreter.data.freezing import freeze, freeze_fields
from rawko.interpreter.data.updates import Append, Assign, Updates
from rawko.interpreter.data.values import Record
from rawko.interpreter.errors import BindingError, shown

EVENT = "rawko.migrate"
"""The event that guards, actions, delays and inputs of a migration receive; its data: `from`, `to`."""


class Followed:
    """The result of applying rules to the states and the context of a machine.

    Attributes:
        names: The state that each given state maps to.
        ruled: The given states that a rule names.
        fields: The context's values by name, frozen.
        undecided: States for which no guard is true, or a guard fails, with the reason: a problem only if the state is
            needed.
        problems: Functions that are not bound, and actions that fail.
    """

    def __init__(self, states: Iterable[str], context: Mapping[str, Any]) -> None:
        self.names = {name: name for name in states}
        self.ruled: set[str] = set()
        self.fields: dict[str, Any] = dict(freeze_fields(context, "context"))
        self.undecided: dict[str, str] = {}
        self.problems: list[str] = []


def migrations_between(old: Chart, new: Chart) -> tuple[Migration, ...]:
    """The rules that lead from one version of a chart to another; empty if the version is the same.

    Raises:
        LookupError: There is no rule for the old version; the message lists the versions that have one.
    """
    if old.version == new.version or not new.migrations:
        return ()
    versions = [migration.version for migration in new.migrations]
    if old.version not in versions:
        known = ", ".join(map(repr, versions))
        raise LookupError(f"the chart has no migration from version {old.version!r}; it has those from: {known}")
    return new.migrations[versions.index(old.version) :]


def event_of(old: Chart, new: Chart) -> Event:
    """The event that functions of a migration receive."""
    return make_event(EVENT, {"from": old.version, "to": new.version})


def follow(
    rules: Sequence[Migration],
    states: Iterable[str],
    active: frozenset[str],
    context: Mapping[str, Any],
    bindings: Bindings,
    event: Event,
) -> Followed:
    """Apply rules to states and context, one version after the other.

    Args:
        states: The states to map.
        active: The old configuration, which `in_state(...)` asks for in all rules.
    """
    followed = Followed(states, context)
    for rule in rules:
        record = Record(dict(followed.fields))
        for state, name in followed.names.items():
            if name not in rule.states or state in followed.undecided:
                continue
            try:
                followed.names[state] = _choose(rule.states[name], name, active, record, bindings, event)
                followed.ruled.add(state)
            except BindingError as error:
                followed.problems.append(str(error))
            except LookupError as error:
                followed.undecided[state] = error.args[0]
        for action in rule.actions:
            _act(action, followed, bindings, event)
    return followed


def _choose(
    moves: Sequence[Move],
    state: str,
    active: frozenset[str],
    context: Record,
    bindings: Bindings,
    event: Event,
) -> str:
    """The target of the first move whose guard is true.

    Raises:
        BindingError: A guard is not bound.
        LookupError: No guard is true, or a guard fails; the message says which.
    """
    for move in moves:
        if move.guard is None:
            return move.target
        try:
            guard = compile_guard(move.guard, bindings, active.__contains__)
            if guard if isinstance(guard, bool) else guard(context, event):
                return move.target
        except BindingError:
            raise
        except Exception as error:
            why = f"{move.position}: the guard of state {state!r} fails: {type(error).__name__}: {error}"
            raise LookupError(why) from error
    raise LookupError(
        f"{moves[0].position}: no guard of state {state!r} is true; accepted: a last move without a guard"
    )


def _act(action: Action, followed: Followed, bindings: Bindings, event: Event) -> None:
    """Apply an action of a rule to the context."""
    if isinstance(action, AssignAction):
        followed.fields.update(freeze_fields(dict(action.values), "assign"))
        return
    assert isinstance(action, CallAction), "the reader accepts no other"
    try:
        compiled = compile_action(action, bindings)
        assert compiled.function is not None
        _apply(compiled.function(Record(dict(followed.fields)), event), followed.fields)
    except BindingError as error:
        followed.problems.append(str(error))
    except Exception as error:  # noqa: BLE001 - as above
        followed.problems.append(f"{action.position}: action {action.name!r}: {type(error).__name__}: {error}")


def _apply(updates: Updates, fields: dict[str, Any]) -> None:
    """Apply assignments and appended items, after a check that they are JSON.

    Raises:
        TypeError: An update is no change of the context.
        NotJsonError, ValueError: A value is not JSON, or an item is appended to a field that is no list.
    """
    match updates:
        case None:
            pass
        case Assign(given):
            fields.update(freeze_fields(given, "assign"))
        case Append(name, item):
            found = fields.get(name)
            if isinstance(found, str) or not isinstance(found, Sequence):
                raise ValueError(f"append to {name!r}, which is no list")
            fields[name] = freeze([*found, item], name)
        case tuple() | list():
            for part in updates:
                _apply(part, fields)
        case _:
            raise TypeError(f"returned {shown(updates)}; accepted in a migration: None, assign(...) and append(...)")


def checked_fields(fields: Mapping[str, Any], model: ContextModel | FreeContext) -> tuple[dict[str, Any], list[str]]:
    """The fields as the present chart's model accepts them, and the names of the fields that it lacks.

    Raises:
        ContextError, NotJsonError: The model refuses a value.
    """
    known = model.names
    if known is None:
        return dict(fields), []
    kept = {name: value for name, value in fields.items() if name in known}
    found: dict[str, Any] = model.initial(kept)
    for name, value in kept.items():  # `initial` replaces None by the default; here an explicit None stays None
        found[name] = model.field(name, value)
    return found, sorted(set(fields) - known)
