"""A machine as one JSON object, taken only between macrosteps; `restoring` reads it.

Lists are sorted, so that equal machines give equal bytes. The runtime adds the snapshots of child machines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from rawko.interpreter.compiled.structure import Structure
from rawko.interpreter.compiled.tables import Node
from rawko.interpreter.data.events import Event, InvocationEvent
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.json_text import to_text
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
            "history": _history(structure, machine),
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


def snapshot_text(machine: Machine) -> str:
    """The snapshot as JSON text without spaces, written without building the snapshot as data.

    Raises:
        SnapshotError: As `take_snapshot`; also if the clock's time is not finite, which JSON cannot express.
    """
    node, agenda = machine.node, machine.agenda
    if not isfinite(machine.time):
        raise SnapshotError(f"the clock stands at {machine.time!r}; accepted: a finite number of seconds", field="now")
    if (
        node is None
        or agenda
        or machine.internal
        or machine.invocations
        or machine.olds
        or machine.observer is not None
    ):
        return to_text(take_snapshot(machine, _as_it_is))
    if machine.is_busy:
        return to_text(take_snapshot(machine, _as_it_is))
    return _resting_text(machine, node)


def _resting_text(machine: Machine, node: Node) -> str:
    """The snapshot text of a machine with empty queues and no invocations: most parts of it are constant or cached."""
    structure = machine.program.structure
    return (
        f'{{"format":{FORMAT},"chart":{structure.heading_text},"started":true,'
        f'"done":{"true" if machine.is_done else "false"},'
        f'"output":{"null" if machine.output is None else to_text(machine.output)},'
        f'"now":{float(machine.time)!r},"configuration":{node.document_text},'
        f'"history":{to_text(_history(structure, machine)) if machine.history else "{}"},'
        f'"context":{to_text(machine.fields)},"external":[],"timers":[],"invocations":[],"children":{{}},'
        f'"entry":{{}},"idle":{{}},"old":{{}},"seq":{machine.seq},"number":{machine.number}}}'
    )


def _as_it_is(value: Any) -> Any:
    return value


def _accepted(value: Any, what: str) -> Any:
    return freeze(value, what, was_kept=True)


def _times(times: Mapping[str, float]) -> dict[str, float]:
    """Times by state, sorted; as floats, since a clock may give the integer 1, which is not 1.0 in bytes."""
    return {name: float(time) for name, time in sorted(times.items())}


def _history(structure: Structure, machine: Machine) -> dict[str, list[str]]:
    names = structure.names
    return {names[h]: [names[s] for s in record] for h, record in sorted(machine.history.items())}


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
