"""A chart without its data: only the parts that decide which states are active.

guard: has_agent(name=event.output.mode) and not is_done     stays, with two atoms that may be true or false
action: [record, {raise: TICK}]                              a change of unknown data, and the event TICK
after: {retry_delay: again}                                  a timer with unknown delay

Contracts, inputs, outputs and context are removed. States, transitions and their indices are unchanged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rawko.chart import definition as d
from rawko.chart.expressions.formatting import format_guard

DATA: Final = "data changes"
"""Name of the action in place of actions that change data."""
UNKNOWN_MS: Final = 1e15
"""Milliseconds in place of a delay that a function computes."""


class NotProvable(ValueError):
    """The chart uses a feature that the checker does not support."""


def skeleton(chart: d.Chart, originals: list[d.Action] | None = None) -> d.Chart:
    """The chart without its data.

    Args:
        originals: Receives each action that changes data; the action's name then ends with `#` and its index there.

    Raises:
        NotProvable: The chart has `errors: scxml`, or a `finalize` that raises or sends an event, or that may change
            data where some of it is explored (`originals`).
    """
    if chart.errors == "scxml":
        raise NotProvable(f"{chart.position}: charts with `errors: scxml` are not checked; `errors: rollback` is")
    transitions = tuple(
        replace(
            t,
            guard=None if t.guard is None else _guard(t.guard),
            actions=_actions(t.actions, originals),
            contract=d.NO_CONTRACT,
        )
        for t in chart.transitions
    )
    states = {
        name: replace(
            state,
            initial_actions=_actions(state.initial_actions, originals),
            memory_actions=_actions(state.memory_actions, originals),
            on_entry=_actions(state.on_entry, originals),
            on_exit=_actions(state.on_exit, originals),
            transitions=tuple(transitions[t.index] for t in state.transitions),
            invoke=tuple(_invoke(invoke, originals) for invoke in state.invoke),
            after=tuple(replace(after, delay=_delay(after.delay)) for after in state.after),
            output=None,
            contract=d.NO_CONTRACT,
        )
        for name, state in chart.states.items()
    }
    return replace(
        chart, states=states, transitions=transitions, context=None, preamble="", data_model="", has_code=False
    )


def atoms(guard: d.Guard) -> tuple[str, ...]:
    """Texts of the calls in a guard of a skeleton."""
    if isinstance(guard, d.GuardCall):
        return (guard.name,)
    if isinstance(guard, d.Not):
        return atoms(guard.operand)
    if isinstance(guard, d.And | d.Or):
        return tuple(name for operand in guard.operands for name in atoms(operand))
    return ()


def _guard(guard: d.Guard) -> d.Guard:
    if isinstance(guard, d.GuardCall):
        return d.GuardCall(format_guard(guard), (), guard.position)
    if isinstance(guard, d.CodeGuard):
        return d.GuardCall(guard.code, (), guard.position)
    if isinstance(guard, d.Not):
        return d.Not(_guard(guard.operand))
    if isinstance(guard, d.And):
        return d.And(tuple(_guard(one) for one in guard.operands))
    if isinstance(guard, d.Or):
        return d.Or(tuple(_guard(one) for one in guard.operands))
    return guard


def _actions(actions: tuple[d.Action, ...], originals: list[d.Action] | None) -> tuple[d.Action, ...]:
    found: list[d.Action] = []
    for action in d.flat(actions):
        if isinstance(action, d.CallAction):
            found.append(_call(action.name, action, originals))
        elif isinstance(action, d.AssignAction | d.CodeAction):
            found.append(_call(DATA, action, originals))
        elif isinstance(action, d.SendAction):
            if action.to is None:
                delay = None if action.delay is None else _delay(action.delay)
                found.append(replace(action, data=(), delay=delay))
        elif isinstance(action, d.RaiseAction):
            found.append(replace(action, data=()))
        elif isinstance(action, d.CancelAction):
            found.append(action)
    return tuple(found)


def _call(name: str, action: d.Action, originals: list[d.Action] | None) -> d.CallAction:
    if originals is None:
        return d.CallAction(name, (), action.position)
    originals.append(action)
    return d.CallAction(f"{name}#{len(originals) - 1}", (), action.position)


def _delay(delay: d.Delay) -> d.FixedDelay:
    return delay if isinstance(delay, d.FixedDelay) else d.FixedDelay(UNKNOWN_MS)


def _invoke(invoke: d.Invoke, originals: list[d.Action] | None) -> d.Invoke:
    actions = list(d.flat(invoke.finalize))
    if any(isinstance(a, d.RaiseAction | d.SendAction | d.CancelAction | d.CodeAction) for a in actions):
        raise NotProvable(f"{invoke.position}: finalize of {invoke.id!r} raises, sends or cancels; that is not checked")
    if originals is not None and any(isinstance(a, d.AssignAction | d.CallAction) for a in actions):
        raise NotProvable(
            f"{invoke.position}: finalize of {invoke.id!r} may change data; that is not checked where the bounds file "
            "names context fields"
        )
    return d.Invoke(invoke.id, "actor", invoke.state, position=invoke.position)
