"""Replays recorded steps: sends a machine the same events at the same times.

Guards, actions and inputs are pure functions of context and event, and the clock is set to the row's time: so the same
event gives the same step. Events that the machine had queued itself come from its own queue; events from outside are
put before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sismic.clock import Clock

from rawko.interpreter.data.events import Event, invocation_event, make_event
from rawko.interpreter.data.freezing import freeze, freeze_fields
from rawko.interpreter.data.steps import Step
from rawko.interpreter.data.values import thaw
from rawko.interpreter.running.interpreter import Interpreter
from rawko.interpreter.running.restoring import restore_into
from rawko.interpreter.stepping.event_queue import Timer

_ENDS = ("done.invoke.", "error.invoke.")


class ReplayClock(Clock):
    """A clock that is set by its user; it may go back, as clocks of other machines do."""

    def __init__(self, time: float = 0.0) -> None:
        self._now = time

    @property
    def time(self) -> float:
        return self._now

    @time.setter
    def time(self, value: float) -> None:
        self._now = value


def restore_as_it_was(machine: Interpreter, snapshot: Mapping[str, Any]) -> None:
    """Fill a fresh machine without restarting anything: timers and invocations stay as recorded.

    Raises:
        SnapshotError: The snapshot does not fit.
    """
    restore_into(machine._machine, snapshot, as_is=True)


def replay_step(machine: Interpreter, event: Mapping[str, Any] | None) -> Step | None:
    """The macrostep for `event` ({"name", "data"}, perhaps "from"); for None, the start or whatever is due."""
    if not machine.is_started:
        return machine.start()
    if event is not None and not is_next(machine, event):
        machine.queue_first(_made(machine, event))
    return machine.execute_once()


def is_next(machine: Interpreter, event: Mapping[str, Any]) -> bool:
    """Whether the machine would take this event by itself now."""
    first = machine._machine.agenda.peek(machine.clock.time)
    if isinstance(first, Timer):
        if first.number:  # the event of a timeout is made only when it fires
            return bool(first.event == event["name"] and _is_timeout(event))
        return bool(first.target is None and first.event == event["name"] and thaw(first.data) == event["data"])
    return first is not None and first.name == event["name"] and thaw(first.data) == event["data"]


def _is_timeout(event: Mapping[str, Any]) -> bool:
    error = event["data"].get("error")
    return isinstance(error, Mapping) and error.get("category") == "timeout"


def _made(machine: Interpreter, event: Mapping[str, Any]) -> Event:
    """The event as it came from outside; if it reports the end of an invocation, it ends that invocation."""
    name, data = event["name"], event["data"]
    sender = machine.invocations.get(event.get("from", ""))
    if sender is not None:
        return invocation_event(name, freeze_fields(data, name), sender.id, sender.number, is_end=False)
    for prefix in _ENDS:
        if name.startswith(prefix):
            invocation = machine.invocations.get(name.removeprefix(prefix))
            if invocation is not None:
                return invocation_event(name, freeze_fields(data, name), invocation.id, invocation.number, is_end=True)
    return make_event(name, freeze(data, name))
