"""Checks a whole snapshot before anything changes: keys, chart, configuration, history, queues, values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import isfinite
from typing import Any

from rawko.interpreter.compiled.program import MAX_NODES
from rawko.interpreter.data.events import Event, InvocationEvent, make_event
from rawko.interpreter.data.invocation import Invocation
from rawko.interpreter.data.values import Record
from rawko.interpreter.errors import NotJsonError, SnapshotError, shown
from rawko.interpreter.running.snapshots import FORMAT
from rawko.interpreter.stepping.event_queue import Timer
from rawko.interpreter.stepping.machine import Machine

_OLDEST = 1
_FORMATS = range(_OLDEST, FORMAT + 1)
_KEYS = frozenset(
    "format chart started done output now configuration history context external timers invocations children "  # noqa: SIM905
    "entry idle old seq number".split()
)


class CheckedSnapshot:
    """The parts of a snapshot, checked against the machine that they are to fill.

    Args:
        taken: Freezes a value of the snapshot; its second argument names the value in errors.

    Attributes:
        configuration, history: By the indices of states.
        timers, invocations, external: Timers, invocations and queued external events.
        context, input, output, olds: Frozen values; `input` is None if the machine has started.
        entry, idle: For trusted code, by state: times of entry, and times of the last activity, in seconds.
        then: When the snapshot was taken, in seconds of the clock.

    Raises:
        SnapshotError: The snapshot is damaged, or of another chart; says which part.
    """

    __slots__ = (
        "configuration", "context", "data", "entry", "external", "history", "idle", "input", "invocations", "machine",
        "number", "olds", "output", "seq", "structure", "taken", "then", "timers",
    )  # fmt: skip

    def __init__(self, machine: Machine, snapshot: Mapping[str, Any], taken: Callable[[Any, str], Any]) -> None:
        self.machine = machine
        self.taken = taken
        self.structure = machine.program.structure
        # Class first: `isinstance` of an abstract class is slower
        if type(snapshot) is not dict and not isinstance(snapshot, Mapping):
            raise SnapshotError(f"found {type(snapshot).__name__}, accepted: a mapping as snapshot() returns")
        if snapshot.get("format") not in _FORMATS:
            accepted = f"{_OLDEST} to {FORMAT}"
            raise SnapshotError(f"found {shown(snapshot.get('format'))}, accepted: {accepted}", field="format")
        if not snapshot.keys() >= _KEYS:
            missing = _KEYS.difference(snapshot)
            raise SnapshotError(f"missing {', '.join(map(repr, sorted(missing)))}")
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
        found = chart.get("hash") if type(chart) is dict or isinstance(chart, Mapping) else chart
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
        self.configuration = frozenset(self._states(names, "configuration"))
        if bool(self.data["started"]) != bool(names):
            raise SnapshotError("'started' and the configuration contradict each other", field="started")
        if names and self.configuration not in self.machine.program.nodes:  # configurations in `nodes` are legal
            self._check_legal()
        history = self.data["history"].items()
        self.history = dict(map(self._record, history)) if history else {}

    def _states(self, names: Any, field: str) -> list[int]:
        index = self.structure.index
        try:
            return [index[name] for name in names]
        except KeyError:
            return [self._state(name, field) for name in names]

    def _check_legal(self) -> None:
        structure, active = self.structure, self.configuration
        if 0 not in active:
            raise SnapshotError("the root is not active", field="configuration")
        for state in active:
            parent = structure.parent[state]
            if structure.states[state].is_history or (parent >= 0 and parent not in active):
                raise SnapshotError(f"{structure.names[state]!r} cannot be active here", field="configuration")
        self._check_whole(active, "configuration")

    def _record(self, item: tuple[Any, Any]) -> tuple[int, tuple[int, ...]]:
        """A history state and its record, checked: states that could have been active inside its parent at one time."""
        name, recorded = item
        index = self._state(name, "history")
        record = tuple(self._states(recorded, "history"))
        known = self.machine.program.legal_records
        if (index, record) not in known:
            self._check_record(name, index, record)
            if len(known) < MAX_NODES:
                known.add((index, record))
        return index, record

    def _check_record(self, name: str, index: int, record: tuple[int, ...]) -> None:
        structure = self.structure
        state = structure.states[index]
        if not state.is_history:
            raise SnapshotError(f"{name!r} is not a history state", field="history")
        parent = structure.parent[index]
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
        data = self.data
        if data["timers"] == data["invocations"] == data["external"] == []:  # the usual case
            self.timers: list[Timer] = []
            self.invocations: list[Invocation] = []
            self.external: list[tuple[float, int, Event]] = []
            return
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
            (_seconds(time), int(seq), event_of(kind, name, self.taken(data, "value")))
            for time, seq, kind, name, data in self.data["external"]
        ]

    def _check_values(self) -> None:
        data = self.data
        context = data["context"]
        if type(context) is not dict and not isinstance(context, Mapping):
            raise SnapshotError(f"found {type(context).__name__}, accepted: a mapping", field="context")
        self.context: Record = self.taken(context, "context")
        given = data.get("input")
        if given is None and not self.data["started"]:
            raise SnapshotError("missing 'input'")
        self.input: Record | None = None if given is None else self.taken(dict(given), "input")
        self.output = self.taken(data["output"], "output")
        names, olds = self.structure.names, data["old"].items()
        self.olds = {names[self._state(name, "old")]: self.taken(old, "old") for name, old in olds} if olds else {}
        self.entry = _times(data["entry"])
        self.idle = _times(data["idle"])
        self.seq, self.number, self.then = int(data["seq"]), int(data["number"]), _seconds(data["now"])


def _times(data: Any) -> dict[str, float]:
    """Times by state name, in seconds."""
    return {} if data == {} else {str(name): _seconds(time) for name, time in data.items()}


def _seconds(value: Any) -> float:
    """A time of a snapshot.

    Raises:
        ValueError: It is not a finite number.
    """
    found = float(value)
    if not isfinite(found):
        raise ValueError(f"{shown(value)} is no time; accepted: seconds, a finite number")
    return found


def event_of(kind: Any, name: str, data: Any) -> Event:
    """An event of a snapshot. `kind`: "event", or a mapping with id, number and `is_end` of its invocation."""
    if kind == "event":
        return make_event(name, data)
    event = make_event(name, data, InvocationEvent)
    assert isinstance(event, InvocationEvent)
    event.id, event.number, event.is_end = kind["id"], int(kind["number"]), bool(kind["is_end"])
    return event
