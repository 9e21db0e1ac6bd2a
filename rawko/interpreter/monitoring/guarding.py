"""Monitors of a machine that runs: a step to which one objects is rolled back, so that nothing of it is committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sismic.model import MetaEvent

from rawko.interpreter.data.events import Event
from rawko.interpreter.errors import InterpreterError
from rawko.interpreter.monitoring.heard import CONSUMED, STEP_STARTED
from rawko.interpreter.monitoring.monitor import Monitor
from rawko.interpreter.monitoring.watcher import Objection, Watcher
from rawko.interpreter.running.interpreter import Interpreter
from rawko.interpreter.running.listeners import PropertyListener

Report = Callable[[Objection], None]


class MonitorViolated(InterpreterError):
    """A monitor objects to a step, which is rolled back: nothing of it was committed or begun.

    Attributes:
        actor: Path of the machine that is watched.
        monitor: Name of the monitor's chart.
        state: Its final state: what must never be.
        event: Of the step; None: the start, or what was due.
        instead: What the machine may take in its place; None where nothing is known.
    """

    def __init__(
        self, actor: str, objection: Objection, event: Event | None = None, instead: Event | None = None
    ) -> None:
        super().__init__(f"{actor!r} was stopped by {objection}")
        self.actor = actor
        self.monitor = objection.monitor
        self.state = objection.state
        self.event = event
        self.instead = instead


class _Guard(PropertyListener):
    """Feeds one monitor, and raises or reports what it objects to."""

    def __init__(self, watcher: Watcher, actor: str, report: Report | None) -> None:
        super().__init__(watcher.interpreter)
        self._watcher = watcher
        self._actor = actor
        self._report = report
        self._event: Event | None = None

    def mark(self) -> None:
        """Nothing to remember yet: only a step that it hears of can change it."""
        self._mark = None

    def reset(self) -> None:
        """Be as when the step began."""
        super().reset()
        self._watcher.objection = None

    def __call__(self, event: MetaEvent) -> None:
        watcher = self._watcher
        if event.name == STEP_STARTED:
            self._event = None
        elif event.name == CONSUMED and self._event is None:
            self._event = event.event
        if not watcher.wants(event):
            return
        if self._mark is None:
            super().mark()
        objection = watcher.hear(event)
        if objection is None:
            return
        monitor, taken = watcher.monitor, self._event
        if monitor.violation == "report" and self._report is not None:
            self._report(objection)
            return
        instead = None
        if monitor.violation == "refuse" and monitor.remedy is not None and taken is not None:
            instead = monitor.remedy(taken, monitor.name, objection.description or objection.state)
        raise MonitorViolated(self._actor, objection, taken, instead)


def watch(
    interpreter: Interpreter,
    monitors: Sequence[Monitor],
    *,
    actor: str = "root",
    memory: Mapping[str, Mapping[str, Any]] | None = None,
    report: Report | None = None,
) -> None:
    """Have a machine watched by those monitors that are for its chart. A step to which one objects raises
    MonitorViolated and has not happened.

    Args:
        memory: Snapshots of monitors by name, of a machine that goes on from a snapshot of its own.
        report: Called with objections of monitors that only report; without it they stop the step, too.
    """
    for monitor in monitors:
        if monitor.is_for(interpreter):
            remembered = None if memory is None else memory.get(monitor.name)
            interpreter.attach(_Guard(Watcher(monitor, interpreter, remembered), actor, report))
