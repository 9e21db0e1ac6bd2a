"""Writes a chart as text of the chart language: `parse_chart(write_chart(chart))` has the same meaning.

Comments and the source's spelling are lost, because a `Chart` does not contain them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, assert_never

from rawko.chart.definition import (
    Action,
    AssignAction,
    BlockAction,
    CallAction,
    CancelAction,
    Chart,
    CodeAction,
    CodeGuard,
    CodeValue,
    Constant,
    Contract,
    DeclaredEvent,
    Delay,
    EmitAction,
    FixedDelay,
    ForEach,
    Guard,
    Invoke,
    LogAction,
    Migration,
    Move,
    NamedDelay,
    RaiseAction,
    SendAction,
    State,
    Transition,
)
from rawko.chart.expressions.formatting import format_call, format_guard
from rawko.chart.formats.depth import require_writable
from rawko.chart.formats.yaml_layout import Layout, layout_of
from rawko.chart.formats.yaml_text import Block, Rows, yaml_text
from rawko.chart.grammar import PRIORITIES

_UNITS = (("h", 3_600_000), ("m", 60_000), ("s", 1_000))
_PRIORITY_WORDS = {number: word for word, number in PRIORITIES.items()}


def write_chart(chart: Chart) -> str:
    """The chart as YAML. A chart with Python code can be read again with `trusted=True`.

    Raises:
        ValueError: The chart was built by a program and cannot be expressed in the language: it has a guard by name
            and Python code, or two timers of one state with the same named delay.
    """
    require_writable(chart)
    return yaml_text({"statechart": _Writer(is_code=chart.has_code).chart(chart)})


class _Writer:
    def __init__(self, *, is_code: bool) -> None:
        self._is_code = is_code

    def chart(self, chart: Chart) -> Block:
        return Block(
            _given(
                name=chart.name,
                version=chart.version,
                migrate=Rows(self._migration(each) for each in chart.migrations),
                description=chart.description,
                context=chart.context,
                events=_declared(chart.events.values()),
                errors=chart.errors if chart.errors != "rollback" else None,
                selection=chart.selection if chart.selection != "inner" else None,
                data_model=chart.data_model,
                preamble=chart.preamble,
                root_state=self._state(chart, chart[chart.root]),
            )
        )

    def _migration(self, migration: Migration) -> Block:
        found = Block({"from": migration.version} if migration.version else {})
        states = {name: [_move(each) for each in moves] for name, moves in migration.states.items()}
        if states:
            found["states"] = {name: moves[0] if len(moves) == 1 else moves for name, moves in states.items()}
        if migration.actions:
            actions = [_action(action) for action in migration.actions]
            found["action"] = actions[0] if len(actions) == 1 else actions
        return found

    # ------------------------------------------------------------ states

    def _state(self, chart: Chart, state: State) -> dict[str, Any]:
        layout = layout_of(state)
        found = _given(
            name=state.name,
            type=state.kind if state.kind == "final" or state.is_history else None,
            description=state.description,
            tags=list(state.tags),
            meta=_json(state.meta),
            on_entry=self._actions(state.on_entry),
            on_exit=self._actions(state.on_exit),
            initial=self._entry(state.initial, state.initial_actions),
            memory=self._entry(state.memory, state.memory_actions),
        )
        for key in layout.keys:
            found[key] = self._moves(state, layout, key)
        if state.output is not None:
            found["output"] = _value(state.output)
        found |= _given(contract=self._contract(state.contract))
        if not state.children:
            return Block(found) if layout.keys else found
        children = Rows(self._state(chart, chart[name]) for name in state.children)
        return Block(found, **{"parallel states" if state.kind == "parallel" else "states": children})

    def _entry(self, targets: Sequence[str], actions: Sequence[Action]) -> Any:
        if not actions:
            return _one_or_list(targets)
        return _given(target=_one_or_list(targets), action=self._actions(actions))

    def _moves(self, state: State, layout: Layout, key: str) -> Any:
        """The value of one of the keys that contain transitions."""
        if key == "transitions":
            return Rows(self._transition(each, event=True) for each in layout.rows("transitions"))
        if key == "after":
            return self._timers(state, layout)
        if key == "invoke":
            found = [self._invoke(each, layout) for each in state.invoke]
            return found[0] if len(found) == 1 else Rows(found)
        return self._outcomes(layout.rows(key))

    def _timers(self, state: State, layout: Layout) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for timer in state.after:
            key = _other_spelling(timer.delay, found)
            policy = None if timer.on_restore == "original" else timer.on_restore
            found[key] = self._outcomes(layout.rows("after", timer.index), on_restore=policy)
        return Block(found) if len(found) > 1 else found

    def _invoke(self, invoke: Invoke, layout: Layout) -> dict[str, Any]:
        found = _given(
            id=invoke.id if invoke.id != invoke.src else None,
            src=invoke.src,
            timeout=_delay(invoke.timeout) if invoke.timeout else None,
            on_restore=invoke.on_restore if invoke.on_restore != "restart" else None,
        )
        if invoke.input is not None:
            found["input"] = _value(invoke.input)
        found |= _given(finalize=self._actions(invoke.finalize), autoforward=invoke.autoforward or None)
        if invoke.for_each is not None:
            found |= _items(invoke.for_each)
        for key in layout.outcomes_of(invoke.id):
            found[key] = self._outcomes(layout.rows("invoke", (invoke.id, key)))
        return found

    # ------------------------------------------------------------ transitions

    def _outcomes(self, transitions: Sequence[Transition], on_restore: str | None = None) -> Any:
        rows = Rows(self._outcome(each, on_restore) for each in transitions)
        return rows[0] if len(rows) == 1 else rows

    def _outcome(self, transition: Transition, on_restore: str | None) -> Any:
        found = self._transition(transition, event=False) | _given(on_restore=on_restore)
        return found["target"] if list(found) == ["target"] and len(transition.targets) == 1 else found

    def _transition(self, transition: Transition, *, event: bool) -> dict[str, Any]:
        found = _given(event=_one_or_list(transition.events)) if event else {}
        if transition.guard is not None:
            found["guard"] = self._guard(transition.guard)
        return found | _given(
            target=_one_or_list(transition.targets),
            internal=transition.internal or None,
            priority=_PRIORITY_WORDS.get(transition.priority, transition.priority) or None,
            action=self._actions(transition.actions),
            contract=self._contract(transition.contract),
            description=transition.description,
        )

    # ------------------------------------------------------------ guards and actions

    def _guard(self, guard: Guard) -> Any:
        if isinstance(guard, Constant):
            return guard.value
        if self._is_code and not isinstance(guard, CodeGuard):
            raise ValueError(f"guard {format_guard(guard)!r} cannot be written in a chart with Python code")
        return format_guard(guard)

    def _contract(self, contract: Contract) -> Rows:
        return Rows(
            Block({key: self._guard(condition)})
            for key, conditions in (("before", contract.before), ("after", contract.after), ("always", contract.always))
            for condition in conditions
        )

    def _actions(self, actions: Sequence[Action]) -> Any:
        if len(actions) == 1 and isinstance(actions[0], CodeAction):
            return actions[0].code
        found = [_action(action) for action in actions]
        return found[0] if len(found) == 1 and not (self._is_code and isinstance(found[0], str)) else found


def _move(move: Move) -> Any:
    """A target, with its guard if there is one; such a guard is never code."""
    if move.guard is None:
        return move.target
    guard = move.guard.value if isinstance(move.guard, Constant) else format_guard(move.guard)
    return {"guard": guard, "target": move.target}


def _action(action: Action) -> Any:
    match action:
        case CallAction(name, arguments):
            return format_call(name, arguments)
        case AssignAction(values):
            return {"assign": _json(dict(values))}
        case RaiseAction(event, data):
            return {"raise": _message(event, data=_json(dict(data)))}
        case EmitAction(event, data):
            return {"emit": _message(event, data=_json(dict(data)))}
        case SendAction():
            delay = _delay(action.delay) if action.delay else None
            data = _json(dict(action.data))
            return {"send": _message(action.event, to=action.to, delay=delay, id=action.id, data=data)}
        case CancelAction(id):
            return {"cancel": id}
        case LogAction(message):
            return {"log": message}
        case CodeAction(code):
            return Block({"python": code}) if "\n" in code else {"python": code}
        case BlockAction(actions):
            return [_action(each) for each in actions]
        case _:
            assert_never(action)


def _message(event: str, **rest: Any) -> Any:
    """The event's name alone if there is nothing else, otherwise a mapping."""
    given = _given(**rest)
    return {"event": event, **given} if given else event


# ---------------------------------------------------------------- values


def _given(**values: Any) -> dict[str, Any]:
    """The given keys with values that are not empty; `on_entry` is written as `on entry`."""
    return {key.replace("_", " "): value for key, value in values.items() if value not in (None, "", [], {}, ())}


def _json(value: Any) -> Any:
    """JSON data in plain dicts and lists."""
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    return [_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def _value(value: Any) -> Any:
    """An input or output. Code that is a single name is put in parentheses: a bare name is a bound function."""
    if not isinstance(value, CodeValue):
        return _json(value)
    return f"({value.code})" if value.code.isidentifier() else value.code


def _items(each: ForEach) -> dict[str, Any]:
    """`for each` and the keys that belong to it."""
    items: Any = list(each.items) if isinstance(each.items, tuple) else str(each.items)
    join: Any = {"quorum": each.quorum} if each.join == "quorum" else each.join
    found = {"for each": _json(items)}
    if join != "all":
        found["join"] = join
    if each.concurrency is not None:
        found["concurrency"] = each.concurrency
    return found


def _one_or_list(names: Sequence[str]) -> Any:
    return names[0] if len(names) == 1 else list(names)


def _declared(events: Iterable[DeclaredEvent]) -> Any:
    rows = list(events)
    if not any(row.fields or row.description for row in rows):
        return [row.name for row in rows]
    return Block({row.name: _declaration(row) for row in rows})


def _declaration(row: DeclaredEvent) -> Any:
    if row.description:
        return _given(fields=list(row.fields), description=row.description)
    return list(row.fields) or None


def _delay(delay: Delay) -> str:
    if isinstance(delay, NamedDelay):
        return delay.name
    return delay.text or delay_text(delay.milliseconds)


def delay_text(milliseconds: float) -> str:
    """A delay in the largest unit that gives an integer: `10m`, `1500ms`."""
    for unit, size in _UNITS:
        if milliseconds and milliseconds % size == 0:
            return f"{int(milliseconds // size)}{unit}"
    number = Decimal(repr(float(milliseconds))).normalize()
    return f"{number:f}ms"


def _other_spelling(delay: Delay, taken: Mapping[str, Any]) -> str:
    """The delay in a spelling that is not a key yet: timers with equal delays differ in spelling."""
    text = _delay(delay)
    if text not in taken:
        return text
    if not isinstance(delay, FixedDelay):
        raise ValueError(f"two timers of one state have the delay {text!r}")
    number = f"{Decimal(repr(delay.milliseconds)):f}"
    number = number if "." in number else f"{number}.0"
    while f"{number}ms" in taken:
        number += "0"
    return f"{number}ms"
