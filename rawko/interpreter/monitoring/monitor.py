"""A monitor as it is written: a property chart with the functions that it names, and guards that any may name.

A monitor hears the meta-events of the machine that it watches. It objects by reaching a final state; by a state with
the tag `duty` it says that something is still owed, which the machine's end must not find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from sismic.model import MetaEvent

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.data.events import Event
from rawko.interpreter.monitoring.heard import META_EVENTS
from rawko.interpreter.running.interpreter import Interpreter

Violation: TypeAlias = Literal["refuse", "stop", "report"]
Remedy: TypeAlias = Callable[[Event, str, str], Event | None]
"""(event of the step, name of the monitor, why it objects): the event to take instead."""
DUTY: Final = "duty"
"""Tag of a state in which the monitor waits for something that must come."""
ANY_MACHINE: Final = ""
"""In `Monitor.watches`: whatever its context."""
MONITOR_GUARDS: Final = Bindings()
"""Guards for any monitor: `is_state(name='open')` of a state that is entered or left, `is_event(name='OPEN')` of an
event that is consumed or sent. Joined with a monitor's own by `|`."""


@MONITOR_GUARDS.guard
def is_state(context: Any, event: Any, *, name: str) -> bool:
    """The state that is entered or left has this name."""
    return bool(event.state == name)


@MONITOR_GUARDS.guard
def is_event(context: Any, event: Any, *, name: str) -> bool:
    """The event that is consumed or sent has this name."""
    return bool(event.event.name == name)


def with_known(functions: Bindings | None, known: Bindings = MONITOR_GUARDS) -> Bindings:
    """A monitor's own functions, and those that every monitor knows where it does not bind the name itself."""
    if functions is None:
        return known
    joined = Bindings()
    for kind, name, value in known:
        if name not in functions.names(kind):
            joined.add(kind, name, value)
    return functions | joined


@dataclass(frozen=True, slots=True)
class Monitor:
    """A property statechart and the functions that it names.

    Attributes:
        watches: Name of the context model that it knows: it is for every chart with that `context`, whatever its name.
            ANY_MACHINE: for every chart.
        concerns: Says of a meta-event whether any guard of it could hold, so that the others cost nothing.
        machine: Name of the one chart whose machines it is for; ANY_MACHINE: of every chart.
        given: Fields of the watched machine's input with the values that they must have: `{"agent": "developer"}`.
        violation: What comes of an objection: "stop" ends the run, "report" logs it and lets the step happen, "refuse"
            has the machine take another event instead of the one of that step, where `remedy` knows one.
        remedy: Knows the event to take instead; None where there is none.
    """

    watches: str
    chart: Chart
    bindings: Bindings
    concerns: Callable[[MetaEvent], bool] | None = None
    machine: str = ANY_MACHINE
    given: Mapping[str, Any] = field(default_factory=dict)
    violation: Violation = "stop"
    remedy: Remedy | None = None

    @property
    def name(self) -> str:
        return self.chart.name

    def is_for(self, machine: Interpreter) -> bool:
        """Whether it watches a machine."""
        chart = machine.chart
        is_of_chart = self.watches in (ANY_MACHINE, chart.context) and self.machine in (ANY_MACHINE, chart.name)
        return is_of_chart and all(machine.input.get(name) == value for name, value in self.given.items())

    @property
    def hears_something(self) -> bool:
        """Whether any of its transitions is for an event of a machine, or for time that passes."""
        heard = {event for transition in self.chart.transitions for event in transition.events}
        return self.has_timers or "*" in heard or not heard.isdisjoint(META_EVENTS)

    @property
    def duties(self) -> frozenset[str]:
        """States in which something is owed."""
        return frozenset(name for name, state in self.chart.states.items() if DUTY in state.tags)

    @property
    def has_timers(self) -> bool:
        """Whether time alone can make it object."""
        return any(state.after for state in self.chart.states.values())
