"""A machine filled from a snapshot, which is checked whole before anything changes; it goes on exactly there.

Held invocations are released here, too; `snapshots` takes snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from rawko.interpreter.data.effects import Effect, StartInvocation
from rawko.interpreter.data.events import Event, InvocationEvent, make_event
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.json_text import checked_parse
from rawko.interpreter.data.steps import Step
from rawko.interpreter.data.values import Record, parsed_value, thaw
from rawko.interpreter.errors import NotJsonError, SnapshotError, shown
from rawko.interpreter.running.snapshots import FORMAT
from rawko.interpreter.stepping.event_queue import Agenda, Timer
from rawko.interpreter.stepping.invocations import timeout_timer
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.stability import find_idle_choice

_OLDEST = 1
_KEYS = frozenset(
    "format chart started done output now configuration history context external timers invocations children "  # noqa: SIM905
    "entry idle old seq number".split()
)


def restore_into(machine: Machine, snapshot: Mapping[str, Any] | str | bytes, *, as_is: bool = False) -> Step:
    """Fill a fresh machine; everything is checked before anything is changed.

    Args:
        snapshot: As `take_snapshot` gives it, or as JSON text.
        as_is: Leave timers and invocations as they were, whatever their policies say: for replaying what came next.

    Raises:
        SnapshotError: See `Interpreter.restore`.
    """
    if machine.is_in_step:
        raise SnapshotError("a step is being processed; restore needs a fresh machine")
    if machine.node is not None or machine.agenda or machine.internal:
        raise SnapshotError("restore needs a fresh machine: this one has started or has events queued")
    if isinstance(snapshot, (str, bytes)):
        checked = _Checked(machine, _parsed(snapshot), _parsed_part)
    else:
        checked = _Checked(machine, snapshot, _kept)
    return checked.fill(as_is=as_is)


def _parsed(text: str | bytes) -> Any:
    try:
        return checked_parse(text)
    except (ValueError, NotJsonError) as error:
        raise SnapshotError(f"the text is no snapshot: {error}") from error


class _Checked:
    """A snapshot whose every part fits the machine.

    Args:
        taken: Makes frozen values of the snapshot's; its second argument says what they are.
    """

    def __init__(self, machine: Machine, snapshot: Mapping[str, Any], taken: Callable[[Any, str], Any]) -> None:
        self.machine = machine
        self.taken = taken
        self.structure = machine.program.structure
        if not isinstance(snapshot, Mapping):
            raise SnapshotError(f"found {type(snapshot).__name__}, accepted: a mapping as snapshot() returns")
        missing = sorted(_KEYS.difference(snapshot))
        if snapshot.get("format") not in range(_OLDEST, FORMAT + 1):
            accepted = f"{_OLDEST} to {FORMAT}"
            raise SnapshotError(f"found {shown(snapshot.get('format'))}, accepted: {accepted}", field="format")
        if missing:
            raise SnapshotError(f"missing {', '.join(map(repr, missing))}")
        self.data = snapshot
        self._check_chart()
        try:
            self._check_states()
            self._check_waiting()
            self._check_values()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, NotJsonError) as error:
            raise SnapshotError(f"damaged: {type(error).__name__}: {error}") from error

    def _check_chart(self) -> None:
        chart = self.data["chart"]
        found = chart.get("hash") if isinstance(chart, Mapping) else chart
        if found != self.structure.hash:
            raise SnapshotError(
                f"taken of chart {shown(chart, 120)}, this is {self.structure.name!r} "
                f"with hash {self.structure.hash!r}: the chart has changed since",
                field="chart",
            )

    def _state(self, name: Any, field: str) -> int:
        index = self.structure.index.get(name)
        if index is None:
            raise SnapshotError(f"the chart has no state {shown(name)}", field=field)
        return index

    def _check_states(self) -> None:
        names = self.data["configuration"]
        self.configuration = frozenset(self._state(name, "configuration") for name in names)
        if bool(self.data["started"]) != bool(names):
            raise SnapshotError("'started' and the configuration contradict each other", field="started")
        if names:
            self._check_legal()
        self.history = {
            self._history_state(name): tuple(self._state(s, "history") for s in record)
            for name, record in self.data["history"].items()
        }

    def _check_legal(self) -> None:
        structure, active = self.structure, self.configuration
        if 0 not in active:
            raise SnapshotError("the root is not active", field="configuration")
        for state in active:
            parent = structure.parent[state]
            if structure.states[state].is_history or (parent >= 0 and parent not in active):
                raise SnapshotError(f"{structure.names[state]!r} cannot be active here", field="configuration")
        self._check_whole(active, "configuration")

    def _history_state(self, name: Any) -> int:
        """The index of a history state whose record is legal: what its parent could have held when it was left."""
        structure = self.structure
        index = self._state(name, "history")
        state = structure.states[index]
        if not state.is_history:
            raise SnapshotError(f"{name!r} is not a history state", field="history")
        parent = structure.parent[index]
        record = [self._state(recorded, "history") for recorded in self.data["history"][name]]
        is_deep = state.kind == "deep history"
        inside = {parent, *record}
        for recorded in record:
            if not structure.is_inside(recorded, parent):
                raise SnapshotError(f"{structure.names[recorded]!r} is not inside the parent", field=f"history {name}")
            inside.update(a for a in structure.ancestors[recorded] if structure.is_inside(a, parent))
        if is_deep:
            self._check_whole(inside, f"history {name}")
        else:
            self._check_children(parent, inside, f"history {name}")
        return index

    def _check_whole(self, active: Collection[int], field: str) -> None:
        for state in active:
            self._check_children(state, active, field)

    def _check_children(self, state: int, active: Collection[int], field: str) -> None:
        structure = self.structure
        name, children = structure.names[state], structure.children[state]
        count = sum(child in active for child in children)
        if structure.is_parallel[state] and count != len(children):
            raise SnapshotError(f"regions of {name!r} are missing", field=field)
        if structure.is_compound[state] and count != 1:
            raise SnapshotError(f"{name!r} needs exactly one active child, found {count}", field=field)

    def _check_waiting(self) -> None:
        self.timers = [
            Timer(
                _seconds(due),
                int(seq),
                str(id),
                str(event),
                self.taken(data, "value"),
                target,
                state,
                _seconds(delay),
                policy,
                number,
            )
            for due, seq, id, event, data, target, state, delay, policy, number in self.data["timers"]
        ]
        for timer in self.timers:
            if timer.state is not None and self._state(timer.state, "timers") not in self.configuration:
                raise SnapshotError(f"timer {timer.id!r} belongs to {timer.state!r}, not active", field="timers")
        self.invocations = [
            Invocation(
                i["id"], i["state"], i["src"], self.taken(i["input"], "value"), int(i["number"]), int(i["attempt"]),
                _seconds(i["started"]), i["policy"], bool(i["held"]),
                None if i["timeout"] is None else _seconds(i["timeout"]),
            )
            for i in self.data["invocations"]
        ]  # fmt: skip
        for invocation in self.invocations:
            state = invocation.state
            if state is not None and self._state(state, "invocations") not in self.configuration:
                raise SnapshotError(
                    f"invocation {invocation.id!r} belongs to {state!r}, not active", field="invocations"
                )
        self.external = [
            (_seconds(time), int(seq), _event(kind, name, self.taken(data, "value")))
            for time, seq, kind, name, data in self.data["external"]
        ]

    def _check_values(self) -> None:
        data = self.data
        context = data["context"]
        if not isinstance(context, Mapping):
            raise SnapshotError(f"found {type(context).__name__}, accepted: a mapping", field="context")
        self.context: Record = self.taken(context, "context")
        given = data.get("input")
        if given is None and not self.data["started"]:
            raise SnapshotError("missing 'input'")
        self.input: Record | None = None if given is None else self.taken(dict(given), "input")
        self.output = self.taken(data["output"], "output")
        self.olds = {
            self.structure.names[self._state(name, "old")]: self.taken(old, "old") for name, old in data["old"].items()
        }
        self.entry = {str(name): _seconds(time) for name, time in data["entry"].items()}
        self.idle = {str(name): _seconds(time) for name, time in data["idle"].items()}
        self.seq, self.number, self.then = int(data["seq"]), int(data["number"]), _seconds(data["now"])

    # ------------------------------------------------------------ filling

    def fill(self, *, as_is: bool = False) -> Step:
        """Nothing here can fail."""
        machine = self.machine
        now = machine.now
        machine.fields.clear()
        machine.fields.update(dict(self.context))
        machine.node = machine.program.node(self.configuration) if self.configuration else None
        machine.history = self.history
        machine.is_done = bool(self.data["done"])
        machine.output = self.output
        if self.input is not None:
            machine.input = self.input
        machine.seq, machine.number = self.seq, self.number
        machine.time = now
        self._fill_observation()
        agenda = machine.agenda = Agenda()
        for time, seq, event in self.external:
            agenda.push(min(time, now), seq, event)
        if as_is:
            machine.invocations = {invocation.id: invocation for invocation in self.invocations}
            for timer in self.timers:
                agenda.set(timer)
            return Step(now, [], node=machine.node)
        timers = {timer.number: timer for timer in self.timers if timer.number}
        effects = self._revive(now, timers)
        for timer in (*(timer for timer in self.timers if not timer.number), *timers.values()):
            timer.due = _due(timer, now, self.then)
            agenda.set(timer)
        return Step(now, [], None, (), tuple(effects), machine.node)

    def _fill_observation(self) -> None:
        machine = self.machine
        observation = machine.observer
        if observation is None:
            machine.olds = dict(self.olds)
            return
        observation.restored(thaw(self.context), self.entry, self.idle)
        observation.restore_olds(self.olds)
        if observation.has_evaluator and machine.node is not None:
            find_idle_choice(machine, self.then)

    def _revive(self, now: float, timeouts: dict[int, Timer]) -> list[Effect]:
        """Bring invocations back by their policy; those whose end is queued already need nothing.

        A new attempt gets its whole time; one that is held gets it when it is released.
        """
        machine = self.machine
        finished = {e.number for _, _, e in self.external if isinstance(e, InvocationEvent) and e.is_end}
        effects: list[Effect] = []
        revived: dict[str, Invocation] = {}
        for invocation in self.invocations:
            revived[invocation.id] = invocation
            if invocation.number in finished:
                continue
            match invocation.policy:
                case "ask":
                    revived[invocation.id] = replace(invocation, is_held=True)
                    timeouts.pop(invocation.number, None)
                case "fail":
                    self._lost(invocation, now)
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

    def _lost(self, invocation: Invocation, now: float) -> None:
        error = {"kind": "lost", "category": "unknown", "message": f"actor {invocation.id!r} was lost in a restart"}
        event = _event(
            {"id": invocation.id, "number": invocation.number, "is_end": True},
            f"error.invoke.{invocation.id}",
            {"error": freeze(error)},
        )
        self.machine.seq += 1
        self.machine.agenda.push(now, self.machine.seq, event)


def release(machine: Machine, id: str) -> Step:
    """Start an invocation that was held back by the policy `ask`.

    Raises:
        SnapshotError: No invocation of that id is held.
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
    """The next attempt of an invocation, under a number of its own."""
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


def _kept(value: Any, where: str) -> Any:
    """A value of a snapshot that the caller gave as data, frozen."""
    return freeze(value, where, was_kept=True)


def _parsed_part(value: Any, _where: str) -> Any:
    """A value of a snapshot that was parsed here, frozen."""
    return parsed_value(value)


def _seconds(value: Any) -> float:
    """A time of a snapshot.

    Raises:
        ValueError: It is no finite number.
    """
    found = float(value)
    if not isfinite(found):
        raise ValueError(f"{shown(value)} is no time; accepted: seconds, a finite number")
    return found


def _event(kind: Any, name: str, data: Any) -> Event:
    if kind == "event":
        return make_event(name, data)
    event = make_event(name, data, InvocationEvent)
    assert isinstance(event, InvocationEvent)
    event.id, event.number, event.is_end = kind["id"], int(kind["number"]), bool(kind["is_end"])
    return event
