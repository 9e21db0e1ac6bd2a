"""Monitors of a running machine: a step that violates a monitor is rolled back before anything of it is committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sismic.model import MetaEvent

from rawko.interpreter.data.events import Event
from rawko.interpreter.errors import InterpreterError
from rawko.interpreter.monitoring.meta_event_names import CONSUMED, STEP_STARTED
from rawko.interpreter.monitoring.monitor import Monitor
from rawko.interpreter.monitoring.watcher import Objection, Watcher
from rawko.interpreter.running.interpreter import Interpreter
from rawko.interpreter.running.listeners import PropertyListener

Report = Callable[[Objection], None]


class MonitorViolated(InterpreterError):
    """A step violates a monitor and was rolled back: nothing of it was committed or started.

    Attributes:
        actor: Path of the monitored machine.
        monitor: Name of the monitor's chart.
        state: The monitor's final state, which stands for the violation.
        event: Of the step; None for the start, or if a timer was due.
        instead: The event that the machine may take instead; None if there is none.
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
    """Sends meta-events to one monitor, and raises or reports its objection."""

    def __init__(self, watcher: Watcher, actor: str, report: Report | None) -> None:
        super().__init__(watcher.interpreter)
        self._watcher = watcher
        self._actor = actor
        self._report = report
        self._event: Event | None = None

    def mark(self) -> None:
        """Nothing to record yet: the monitor changes only when it receives a meta-event."""
        self._mark = None

    def reset(self) -> None:
        """Restore the monitor's state at the beginning of the step."""
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
    """Attach to a machine those monitors that apply to its chart. A step that violates one raises MonitorViolated and
    is rolled back.

    Args:
        memory: Snapshots of the monitors by name, for a machine that was itself restored from a snapshot.
        report: Called with objections of monitors that only report; without it these stop the step, too.
    """
    for monitor in monitors:
        if monitor.is_for(interpreter):
            remembered = None if memory is None else memory.get(monitor.name)
            interpreter.attach(_Guard(Watcher(monitor, interpreter, remembered), actor, report))
