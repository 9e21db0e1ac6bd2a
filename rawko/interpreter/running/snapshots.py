"""A machine as one JSON object, taken only between macrosteps; `restoring` reads it.

Lists are sorted, so that equal machines give equal bytes. `snapshot_text` writes it as JSON text. The runtime adds the
snapshots of child machines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rawko.interpreter.compiled.structure import Structure
from rawko.interpreter.data.events import Event, InvocationEvent
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.values import thaw
from rawko.interpreter.errors import NotJsonError, SnapshotError
from rawko.interpreter.stepping.event_queue import Timer
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.observer import Kept

FORMAT = 2
"""Since format 2 a snapshot has the input only if the machine has not started: nothing reads it later."""


def take_snapshot(machine: Machine, plain: Callable[[Any], Any] = thaw) -> dict[str, Any]:
    """The machine as plain JSON data.

    Args:
        plain: Converts frozen values to plain ones; the identity leaves them frozen.

    Raises:
        SnapshotError: Called in mid-step, or a value in the queue or in a trusted context is not JSON.
    """
    if machine.is_in_step:
        raise SnapshotError("a step is being processed; snapshots are taken between steps")
    if machine.internal:
        raise SnapshotError("an internal event waits; call execute() first, snapshots are taken when none does")
    structure = machine.program.structure
    kept: Kept | None = machine.observer
    entry, idle = ({}, {}) if kept is None else kept.times()
    is_started = machine.node is not None
    try:
        snapshot = {
            "format": FORMAT,
            "chart": {"name": structure.name, "hash": structure.hash},
            "started": is_started,
            "done": machine.is_done,
            "output": plain(machine.output),
            "now": float(machine.time),
            "configuration": _document_order(machine),
            "history": history_by_name(structure, machine.history),
            "context": plain(_accepted(dict(machine.visible_context), "context")),
            "external": [_external(plain, *queued) for queued in machine.agenda.events],
            "timers": [_timer(plain, timer) for timer in machine.agenda.timers],
            "invocations": [
                _invocation(plain, i) for i in sorted(machine.invocations.values(), key=lambda i: i.number)
            ],
            "children": {},
            "entry": _times(entry),
            "idle": _times(idle),
            "old": _olds(plain, machine),
            "seq": machine.seq,
            "number": machine.number,
        }
        if not is_started:
            snapshot["input"] = plain(_accepted(machine.input, "input"))
    except NotJsonError as error:
        raise SnapshotError(str(error)) from error
    return snapshot


def _accepted(value: Any, what: str) -> Any:
    return freeze(value, what, was_kept=True)


def _times(times: Mapping[str, float]) -> dict[str, float]:
    """Times by state, sorted; as floats, since a clock may give the integer 1, which is not 1.0 in bytes."""
    return {name: float(time) for name, time in sorted(times.items())}


def history_by_name(structure: Structure, history: dict[int, tuple[int, ...]]) -> dict[str, list[str]]:
    """History records by the names of states, as snapshots list them."""
    names = structure.names
    return {names[h]: [names[s] for s in record] for h, record in sorted(history.items())}


def _document_order(machine: Machine) -> list[str]:
    return [] if machine.node is None else machine.node.in_document_order


def _external(plain: Callable[[Any], Any], time: float, seq: int, event: Event) -> list[Any]:
    kind: Any = "event"
    if isinstance(event, InvocationEvent):
        kind = {"id": event.id, "number": event.number, "is_end": event.is_end}
    return [float(time), seq, kind, event.name, plain(_accepted(event.data, event.name))]


def _timer(plain: Callable[[Any], Any], timer: Timer) -> list[Any]:
    return [
        float(timer.due),
        timer.seq,
        timer.id,
        timer.event,
        plain(_accepted(timer.data, timer.event)),
        timer.target,
        timer.state,
        float(timer.delay),
        timer.policy,
        timer.number,
    ]


def _invocation(plain: Callable[[Any], Any], invocation: Invocation) -> dict[str, Any]:
    return {
        "id": invocation.id,
        "state": invocation.state,
        "src": invocation.src,
        "input": plain(invocation.input),
        "number": invocation.number,
        "attempt": invocation.attempt,
        "started": float(invocation.started),
        "policy": invocation.policy,
        "held": invocation.is_held,
        "timeout": invocation.timeout_s,
    }


def _olds(plain: Callable[[Any], Any], machine: Machine) -> dict[str, Any]:
    kept: Kept | None = machine.observer
    olds = machine.olds if kept is None else kept.olds()
    return {name: plain(_accepted(old, "old")) for name, old in sorted(olds.items())}
