"""Table with the reader for each type of the grammar."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rawko.chart.grammar import Type
from rawko.chart.reading import behaviour, fan_out, migrations, states, transitions, uses, values
from rawko.chart.reading.reader import ValueReader

READERS: Final[Mapping[Type, ValueReader]] = MappingProxyType(
    {
        Type.STATECHART: states.statechart,
        Type.STATE: states.state,
        Type.STATES: states.states,
        Type.STATE_TYPE: values.state_type,
        Type.NAME: values.name,
        Type.NAMES: values.names,
        Type.TEXT: values.text,
        Type.CODE: behaviour.code,
        Type.BOOLEAN: values.boolean,
        Type.PRIORITY: values.priority,
        Type.TARGETS: values.targets,
        Type.ENTRY: transitions.entry,
        Type.EVENTS: values.events,
        Type.EVENT: values.event,
        Type.GUARD: behaviour.guard,
        Type.ACTIONS: behaviour.actions,
        Type.CONTRACT: behaviour.contract,
        Type.TRANSITIONS: transitions.transitions,
        Type.OUTCOMES: transitions.outcomes,
        Type.AFTER: transitions.after,
        Type.INVOKE: transitions.invoke,
        Type.INPUT: values.bound_or_data,
        Type.OUTPUT: values.bound_or_literal,
        Type.DELAY: values.delay,
        Type.TIMER_POLICY: values.timer_policy,
        Type.RESTORE_POLICY: values.restore_policy,
        Type.ITEMS: fan_out.items,
        Type.JOIN: fan_out.join,
        Type.CONCURRENCY: fan_out.concurrency,
        Type.COUNT: fan_out.count,
        Type.ERROR_POLICY: values.error_policy,
        Type.SELECTION: values.selection,
        Type.DATA_MODEL: values.data_model,
        Type.DATA: values.data,
        Type.RAISE: behaviour.raise_,
        Type.SEND: behaviour.send,
        Type.EMIT: behaviour.emit,
        Type.DECLARED_EVENTS: values.declared_events,
        Type.MIGRATIONS: migrations.migrations,
        Type.MOVES: migrations.moves,
        Type.CHANGES: migrations.changes,
        Type.USE: uses.uses,
        Type.ARGUMENTS: uses.arguments,
        Type.EXITS: uses.exits,
        Type.VALUE: uses.value,
    }
)
