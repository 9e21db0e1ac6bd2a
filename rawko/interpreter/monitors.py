"""Monitors: machines that watch machines, in production as in tests.

A monitor is a property statechart as sismic has them: it hears the meta-events of the machine that it watches, and
objects by reaching a final state. The step that it objects to is rolled back, so that nothing of it is committed or
begun. Only the meta-events that its chart names are fed to it, and the end of a step only where a state was entered: a
model's text as it arrives costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sismic.clock import SynchronizedClock
from sismic.model import MetaEvent

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.errors import InterpreterError
from rawko.interpreter.running.interpreter import Interpreter
from rawko.interpreter.running.listeners import PropertyListener

STEP_ENDED: Final = "step ended"
MONITOR_GUARDS: Final = Bindings()
"""Guards for any monitor: `is_state(name='open')` of a state that is entered or left, `is_event(name='OPEN')` of an
event that is consumed or sent. Joined with a monitor's own by `|`."""
_OF_A_STEP: Final = ("state entered", "state exited")


@MONITOR_GUARDS.guard
def is_state(context: Any, event: Any, *, name: str) -> bool:
    """The state that is entered or left has this name."""
    return bool(event.state == name)


@MONITOR_GUARDS.guard
def is_event(context: Any, event: Any, *, name: str) -> bool:
    """The event that is consumed or sent has this name."""
    return bool(event.event.name == name)


class MonitorViolated(InterpreterError):
    """A monitor objects to a step, which is rolled back: nothing of it was committed or begun.

    Attributes:
        actor: Path of the machine that is watched.
        monitor: Name of the monitor's chart.
        state: Its final state: what must never be.
    """

    def __init__(self, actor: str, monitor: str, state: str, description: str) -> None:
        told = f": {description}" if description else ""
        super().__init__(f"{actor!r} was stopped by the monitor {monitor!r}, state {state!r}{told}")
        self.actor = actor
        self.monitor = monitor
        self.state = state


@dataclass(frozen=True, slots=True)
class Monitor:
    """A property statechart and the functions that it names.

    Attributes:
        watches: Name of the context model that it knows: it is for every chart with that `context`, whatever its name.
        concerns: Says of a meta-event whether any guard of it could hold, so that the others cost nothing.
    """

    watches: str
    chart: Chart
    bindings: Bindings
    concerns: Callable[[MetaEvent], bool] | None = None


class _Watch(PropertyListener):
    """Feeds one monitor with what it wants to hear, and the watched machine's context with it."""

    def __init__(self, monitor: Monitor, watched: Interpreter, actor: str) -> None:
        clock = SynchronizedClock(watched)
        super().__init__(Interpreter(monitor.chart, monitor.bindings, clock=clock))
        self.interpreter.start()
        self._watched = watched
        self._actor = actor
        self._chart = monitor.chart
        self._hears = frozenset(event for t in monitor.chart.transitions for event in t.events)
        self._concerns = monitor.concerns
        self._has_moved = False

    def mark(self) -> None:
        """Nothing to remember yet: only a step that it hears of can change it."""
        self._mark = None

    def __call__(self, event: MetaEvent) -> None:
        if event.name in _OF_A_STEP:
            self._has_moved = True
        elif event.name == STEP_ENDED:
            if not self._has_moved:
                return
            self._has_moved = False
        if event.name not in self._hears or (self._concerns is not None and not self._concerns(event)):
            return
        if self._mark is None:
            super().mark()
        self.interpreter.queue(MetaEvent(event.name, **event.data, context=self._watched.context))
        self.interpreter.execute()
        if self.interpreter.final:
            [state] = [name for name in self.interpreter.configuration if name != self._chart.root]
            raise MonitorViolated(self._actor, self._chart.name, state, self._chart.states[state].description or "")


def watch(interpreter: Interpreter, monitors: Sequence[Monitor], *, actor: str = "root") -> None:
    """Have a machine watched by those monitors that are for its chart. A step to which one objects raises
    MonitorViolated and has not happened.
    """
    for monitor in monitors:
        if monitor.watches == interpreter.chart.context:
            interpreter.attach(_Watch(monitor, interpreter, actor))
