"""Fills a machine from a snapshot, so that it continues exactly there; `checked_snapshot` checks the snapshot first.

Also releases suspended invocations; `snapshots` takes snapshots. The policy of a timer or invocation (`on restore`)
decides how it continues. A snapshot at second 100 with a timer of 60 s that is due at 130, restored at second 200:

    original     due at 130: fires at once
    remaining    due at 230: 30 s were left
    restart      due at 260
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rawko.interpreter.data.effects import Effect, StartInvocation
from rawko.interpreter.data.events import InvocationEvent
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.json_text import checked_parse
from rawko.interpreter.data.steps import Step
from rawko.interpreter.data.values import fields_of, parsed_value, thaw
from rawko.interpreter.errors import NotJsonError, SnapshotError
from rawko.interpreter.running.checked_snapshot import CheckedSnapshot, event_of
from rawko.interpreter.running.snapshot_text import learn_place, restore_resting
from rawko.interpreter.stepping.event_queue import Agenda, Timer
from rawko.interpreter.stepping.invocations import timeout_timer
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.stability import find_idle_choice


def restore_into(machine: Machine, snapshot: Mapping[str, Any] | str | bytes, *, as_is: bool = False) -> Step:
    """Fill a fresh machine; everything is checked before anything is changed.

    Args:
        snapshot: From `take_snapshot`, or as JSON text.
        as_is: Leave timers and invocations as recorded, whatever their policies: for replaying the steps that followed.

    Raises:
        SnapshotError: See `Interpreter.restore`.
    """
    if machine.is_in_step:
        raise SnapshotError("a step is being processed; restore needs a fresh machine")
    if machine.node is not None or machine.agenda or machine.internal:
        raise SnapshotError("restore needs a fresh machine: this one has started or has events queued")
    if not isinstance(snapshot, (str, bytes)):
        return _fill(machine, CheckedSnapshot(machine, snapshot, _kept), as_is=as_is)
    if type(snapshot) is str and restore_resting(machine, snapshot):
        return Step(machine.time, [], node=machine.node)
    step = _fill(machine, CheckedSnapshot(machine, _parsed(snapshot), _parsed_part), as_is=as_is)
    if type(snapshot) is str:
        learn_place(machine, snapshot)
    return step


def _parsed(text: str | bytes) -> Any:
    try:
        return checked_parse(text)
    except (ValueError, NotJsonError) as error:
        raise SnapshotError(f"the text is no snapshot: {error}") from error


def _kept(value: Any, where: str) -> Any:
    """A value of a snapshot that the caller passed as data, frozen."""
    return freeze(value, where, was_kept=True)


def _parsed_part(value: Any, _where: str) -> Any:
    """A value of a snapshot that was parsed here, frozen."""
    return parsed_value(value)


def _fill(machine: Machine, checked: CheckedSnapshot, *, as_is: bool) -> Step:
    """Fill the machine from checked data; cannot fail."""
    now = machine.now
    machine.fields.clear()
    machine.fields.update(fields_of(checked.context))
    machine.node = machine.program.node(checked.configuration) if checked.configuration else None
    machine.history = checked.history
    machine.is_done = bool(checked.data["done"])
    machine.output = checked.output
    if checked.input is not None:
        machine.input = checked.input
    machine.seq, machine.number = checked.seq, checked.number
    machine.time = now
    _fill_observation(machine, checked)
    # Nothing queued or running: the fresh machine's agenda will do
    if not (checked.invocations or checked.timers or checked.external):
        return Step(now, [], node=machine.node)
    agenda = machine.agenda = Agenda()
    for time, seq, event in checked.external:
        agenda.push(min(time, now), seq, event)
    if as_is:
        machine.invocations = {invocation.id: invocation for invocation in checked.invocations}
        for timer in checked.timers:
            agenda.set(timer)
        return Step(now, [], node=machine.node)
    timers = {timer.number: timer for timer in checked.timers if timer.number}
    effects = _revive(machine, checked, now, timers)
    for timer in (*(timer for timer in checked.timers if not timer.number), *timers.values()):
        timer.due = _due(timer, now, checked.then)
        agenda.set(timer)
    return Step(now, [], None, (), tuple(effects), machine.node)


def _fill_observation(machine: Machine, checked: CheckedSnapshot) -> None:
    observation = machine.observer
    if observation is None:
        machine.olds = checked.olds
        return
    observation.restored(thaw(checked.context), checked.entry, checked.idle)
    observation.restore_olds(checked.olds)
    if observation.has_evaluator and machine.node is not None:
        find_idle_choice(machine, checked.then)


def _revive(machine: Machine, checked: CheckedSnapshot, now: float, timeouts: dict[int, Timer]) -> list[Effect]:
    """Restart invocations by their policies; skips those whose end is queued already.

    A new attempt gets its whole timeout; a suspended one gets it when it is released.
    """
    finished = {e.number for _, _, e in checked.external if isinstance(e, InvocationEvent) and e.is_end}
    effects: list[Effect] = []
    revived: dict[str, Invocation] = {}
    for invocation in checked.invocations:
        revived[invocation.id] = invocation
        if invocation.number in finished:
            continue
        # Attempt 0: a migration has added the invocation, and it has never started: start it, whatever its policy.
        match invocation.policy if invocation.attempt else "restart":
            case "ask":
                revived[invocation.id] = replace(invocation, is_held=True)
                timeouts.pop(invocation.number, None)
            case "fail":
                _lost(machine, invocation, now)
            case "resume":
                effects.append(_start(invocation, is_resumed=True))
            case _:
                timeouts.pop(invocation.number, None)
                again = revived[invocation.id] = restart(machine, invocation, now)
                if again.timeout_s is not None:
                    machine.seq += 1
                    timer = timeouts[again.number] = timeout_timer(again, now, machine.seq)
                    timer.policy = "original"
                effects.append(_start(again))
    machine.invocations = revived
    return effects


def _lost(machine: Machine, invocation: Invocation, now: float) -> None:
    error = {"kind": "lost", "category": "unknown", "message": f"actor {invocation.id!r} was lost in a restart"}
    event = event_of(
        {"id": invocation.id, "number": invocation.number, "is_end": True},
        f"error.invoke.{invocation.id}",
        {"error": freeze(error)},
    )
    machine.seq += 1
    machine.agenda.push(now, machine.seq, event)


def release(machine: Machine, id: str) -> Step:
    """Start an invocation that the policy `ask` has suspended.

    Raises:
        SnapshotError: No invocation of that id is suspended.
    """
    held = machine.invocations.get(id)
    if held is None or not held.is_held:
        raise SnapshotError(f"no invocation {id!r} is held")
    machine.require_idle()
    now = machine.now
    again = restart(machine, held, now)
    machine.invocations = {**machine.invocations, id: again}
    if again.timeout_s is not None:
        machine.seq += 1
        machine.agenda.set(timeout_timer(again, now, machine.seq))
    return Step(now, [], None, (), (_start(again),), machine.node)


def restart(machine: Machine, invocation: Invocation, now: float) -> Invocation:
    """The next attempt of an invocation, under a new number."""
    machine.number += 1
    attempt = invocation.attempt + 1
    return replace(invocation, number=machine.number, attempt=attempt, started=now, is_held=False)


def _start(invocation: Invocation, *, is_resumed: bool = False) -> StartInvocation:
    return StartInvocation(
        invocation.id,
        invocation.src,
        invocation.input,
        invocation.number,
        invocation.attempt,
        invocation.state,
        invocation.policy,
        is_resumed,
    )


def _due(timer: Timer, now: float, then: float) -> float:
    match timer.policy:
        case "remaining":
            return now + max(timer.due - then, 0.0)
        case "restart":
            return now + timer.delay
        case _:
            return timer.due
