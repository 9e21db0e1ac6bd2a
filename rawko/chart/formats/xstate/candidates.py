"""Writes a state's transitions in the order in which XState tries them: exact descriptors first, then long wildcards.

The chart tries them by priority and order of writing instead. If a general descriptor is tried before a special one,
its transitions are also written under the special one, in the chart's order:

    - event: '*'     priority: high, guard: full       XState:  "*":   [full]
    - event: TICK                                               "TICK": [full, the transition of TICK]

Guards are pure, so evaluating one twice changes nothing.
"""

from __future__ import annotations

from typing import Any

from rawko.chart.definition import Chart, State, Transition
from rawko.chart.formats.exchange import Losses
from rawko.chart.formats.xstate.events import covers, to_xstate
from rawko.chart.formats.xstate.functions import Functions, delay_key
from rawko.chart.formats.xstate.tree import escaped
from rawko.chart.formats.yaml_layout import layout_of

Rows = list[dict[str, Any]]


class Candidates:
    """Writes the transitions of one chart's states."""

    def __init__(self, chart: Chart, functions: Functions, losses: Losses) -> None:
        self._chart = chart
        self._functions = functions
        self._losses = losses
        self._timers = {
            timer.event: f"xstate.after.{delay_key(timer.delay)}.{state.name}"
            for state in chart
            for timer in state.after
        }
        self._has_failures = any(state.invoke for state in chart)

    def of(self, state: State) -> dict[str, Any]:
        """`on`, `always`, `after`, `onDone`, and outcomes by id under `invoke`, in the order of the chart's keys."""
        asked = sorted(state.transitions, key=lambda each: -each.priority)
        by_descriptor = {event: self._asked_on(event, asked) for each in asked for event in each.events}
        always = [self._config(each) for each in asked if not each.events]
        found: dict[str, Any] = {}
        for key in layout_of(state).keys:
            if key == "after":
                found["after"] = self._after(state, by_descriptor)
            elif key == "invoke":
                found["invoke"] = self._outcomes(state, by_descriptor)
            elif key == "on done":
                found["onDone"] = by_descriptor.pop(f"done.state.{state.name}")
            elif key == "transitions":
                found["on"] = {}
        if always:
            found["always"] = _alone(always)
        return self._with_events(state, found, by_descriptor)

    def _with_events(self, state: State, found: dict[str, Any], rest: dict[str, Rows]) -> dict[str, Any]:
        """Put the remaining transitions under `on`."""
        events: dict[str, Any] = {}
        for descriptor, rows in rest.items():
            theirs = to_xstate(descriptor, self._timers)
            if theirs is None:
                message = f"transitions of {state.name!r} on {descriptor!r} are left out: XState has no such event"
                self._losses.add(state.position, message)
                continue
            if descriptor == "*" and self._has_failures and "error.invoke.*" not in rest and "error.*" not in rest:
                message = f"'*' of {state.name!r} takes errors of invocations in XState, too"
                self._losses.add(state.position, message)
            events.setdefault(theirs, _alone(rows))
        if events:
            found["on"] = events
        elif "on" in found:
            del found["on"]
        if "onDone" in found:
            found["onDone"] = _alone(found["onDone"])
        return found

    def _after(self, state: State, by_descriptor: dict[str, Rows]) -> dict[str, Any]:
        found: dict[str, Rows] = {}
        for timer in state.after:
            key = str(delay_key(timer.delay))
            if key in found:
                message = f"timers of {state.name!r} after {key} ms are one in XState"
                self._losses.add(timer.position, message)
            found.setdefault(key, []).extend(by_descriptor.pop(timer.event, []))
        return {key: _alone(rows) for key, rows in found.items()}

    def _outcomes(self, state: State, by_descriptor: dict[str, Rows]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for invoke in state.invoke:
            keys = {f"done.invoke.{invoke.id}": "onDone", f"error.invoke.{invoke.id}": "onError"}
            found[invoke.id] = {
                keys[event]: _alone(by_descriptor.pop(event)) for event in list(by_descriptor) if event in keys
            }
        return found

    def _asked_on(self, descriptor: str, asked: list[Transition]) -> Rows:
        """The transitions that XState needs under a descriptor: its own, and more general ones tried before them."""
        last = max(place for place, each in enumerate(asked) if descriptor in each.events)
        return [
            self._config(each)
            for each in asked[: last + 1]
            if descriptor in each.events or any(covers(event, descriptor) for event in each.events)
        ]

    # ------------------------------------------------------------ one transition

    def _config(self, transition: Transition) -> dict[str, Any]:
        targets = [f"#{escaped(name)}" for name in transition.targets]
        given = {
            "target": targets[0] if len(targets) == 1 else targets,
            "guard": self._functions.guard(transition.guard, transition.position),
            "actions": self._functions.actions(transition.actions),
            "reenter": not transition.internal and self._stays_inside(transition),
            "description": transition.description,
        }
        return {key: value for key, value in given.items() if value}

    def _stays_inside(self, transition: Transition) -> bool:
        """Whether `reenter` matters: all targets may be descendants of the source. The root is never exited."""
        source = transition.source
        if source == self._chart.root or not transition.targets:
            return False
        above = (source, *self._chart.ancestors(source))
        for target in transition.targets:
            state = self._chart[target]
            is_inside = target == source or source in self._chart.ancestors(target)
            if not is_inside and not (state.is_history and state.parent in above):
                return False
        return True


def _alone(rows: Rows) -> Any:
    """A single transition without the list around it."""
    return rows[0] if len(rows) == 1 else rows
