"""Monitors of a machine that runs: a step to which one objects is rolled back, so that nothing of it is committed."""

from __future__ import annotations

from collections.abc import Sequence

from sismic.model import MetaEvent

from rawko.interpreter.errors import InterpreterError
from rawko.interpreter.monitoring.monitor import Monitor
from rawko.interpreter.monitoring.watcher import Objection, Watcher
from rawko.interpreter.running.interpreter import Interpreter
from rawko.interpreter.running.listeners import PropertyListener


class MonitorViolated(InterpreterError):
    """A monitor objects to a step, which is rolled back: nothing of it was committed or begun.

    Attributes:
        actor: Path of the machine that is watched.
        monitor: Name of the monitor's chart.
        state: Its final state: what must never be.
    """

    def __init__(self, actor: str, objection: Objection) -> None:
        super().__init__(f"{actor!r} was stopped by {objection}")
        self.actor = actor
        self.monitor = objection.monitor
        self.state = objection.state


class _Guard(PropertyListener):
    """Feeds one monitor, and raises what it objects to."""

    def __init__(self, watcher: Watcher, actor: str) -> None:
        super().__init__(watcher.interpreter)
        self._watcher = watcher
        self._actor = actor

    def mark(self) -> None:
        """Nothing to remember yet: only a step that it hears of can change it."""
        self._mark = None

    def reset(self) -> None:
        """Be as when the step began."""
        super().reset()
        self._watcher.objection = None

    def __call__(self, event: MetaEvent) -> None:
        if not self._watcher.wants(event):
            return
        if self._mark is None:
            super().mark()
        objection = self._watcher.hear(event)
        if objection is not None:
            raise MonitorViolated(self._actor, objection)


def watch(interpreter: Interpreter, monitors: Sequence[Monitor], *, actor: str = "root") -> None:
    """Have a machine watched by those monitors that are for its chart. A step to which one objects raises
    MonitorViolated and has not happened.
    """
    for monitor in monitors:
        if monitor.is_for(interpreter.chart):
            interpreter.attach(_Guard(Watcher(monitor, interpreter), actor))
