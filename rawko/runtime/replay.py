"""From journal rows back to the tree of machines that wrote them, without starting anything.

The latest checkpoint is filled in, the rows after it are stepped through; every step must come out as it was
recorded, else the chart or its functions have changed since. The result is a snapshot that `Actor` goes on from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.effects import StartInvocation, StopInvocation
from rawko.interpreter.errors import InterpreterError
from rawko.interpreter.interpreter import Interpreter
from rawko.interpreter.replaying import ReplayClock, replay_step, restore_as_it_was
from rawko.interpreter.steps import Step
from rawko.runtime.errors import RuntimeFault
from rawko.runtime.journal import Journal, StepRecord, encode_update
from rawko.runtime.logic import ChildFactory, ChildMachine


class ReplayError(RuntimeFault):
    """A recorded run cannot be stepped through again.

    Attributes:
        seq: Number of the row that came out otherwise; 0 for the checkpoint.
    """

    def __init__(self, run: str, seq: int, message: str) -> None:
        super().__init__(f"run {run!r}, row {seq}: {message}")
        self.run = run
        self.seq = seq


@dataclass(slots=True)
class _Machine:
    """One machine of the tree, and the child machines it invokes."""

    interpreter: Interpreter
    children: dict[str, _Machine] = field(default_factory=dict)

    def snapshot(self) -> dict[str, Any]:
        snapshot = self.interpreter.snapshot()
        snapshot["children"] = {id: child.snapshot() for id, child in sorted(self.children.items())}
        return snapshot


@dataclass(frozen=True, slots=True)
class Replayed:
    """A run as its journal knows it.

    Attributes:
        snapshot: Of the whole tree, for `Actor(snapshot=...)`; None where nothing was committed.
        seq: Number of the latest row.
        notes: The latest that the session noted; None if it never did.
    """

    snapshot: dict[str, Any] | None
    seq: int
    notes: dict[str, Any] | None = None


async def replay(
    journal: Journal,
    run: str,
    chart: Chart,
    bindings: Bindings | None = None,
    *,
    input: Mapping[str, Any] | None = None,
    until: int | None = None,
) -> Replayed:
    """The tree of a run as of its latest row, or of row `until`.

    Args:
        chart, bindings, input: As the run was started with.

    Raises:
        ReplayError: A row comes out otherwise than it was recorded: chart or functions have changed.
        JournalError: The journal cannot be read.
    """
    tree = _Tree(run, chart, bindings, input)
    checkpoint = await journal.last_checkpoint(run)
    after = 0
    notes: dict[str, Any] | None = None
    if checkpoint is not None and (until is None or checkpoint[0] <= until):
        after, snapshot = checkpoint
        notes = snapshot.get("notes")
        tree.fill(snapshot)
    seq = after
    for record in await journal.rows(run, after):
        if until is not None and record.seq > until:
            break
        tree.step(record)
        seq, notes = record.seq, record.notes or notes
    return Replayed(tree.root.snapshot() if seq else None, seq, notes)


async def latest_notes(journal: Journal, run: str) -> dict[str, Any] | None:
    """What the session noted last; None if it never did.

    Raises:
        JournalError: The journal cannot be read.
    """
    checkpoint = await journal.last_checkpoint(run)
    notes = None if checkpoint is None else checkpoint[1].get("notes")
    for record in await journal.rows(run, 0 if checkpoint is None else checkpoint[0]):
        notes = record.notes or notes
    return notes


class _Tree:
    """The machines of one run."""

    def __init__(self, run: str, chart: Chart, bindings: Bindings | None, input: Mapping[str, Any] | None) -> None:
        self._run = run
        self._clock = ReplayClock()
        self.root = _Machine(Interpreter(chart, bindings, input=input, clock=self._clock))

    def fill(self, snapshot: Mapping[str, Any]) -> None:
        """Begin from a checkpoint instead of the start."""
        try:
            self._fill(self.root, snapshot)
        except InterpreterError as error:
            raise ReplayError(self._run, 0, str(error)) from error

    def _fill(self, machine: _Machine, snapshot: Mapping[str, Any]) -> None:
        self._clock.time = float(snapshot["now"])
        restore_as_it_was(machine.interpreter, {**snapshot, "children": {}})
        for id, below in snapshot["children"].items():
            invocation = machine.interpreter.invocations[id]
            child = self._child(machine, invocation.src, invocation.input)
            if child is not None:
                machine.children[id] = child
                self._fill(child, below)

    def _child(self, parent: _Machine, src: str, input: Any) -> _Machine | None:
        """The machine behind an actor; None where the actor is a function."""
        logic = parent.interpreter.bindings.find("actor", src)
        if not isinstance(logic, ChildFactory):
            return None
        made: ChildMachine = logic.make(input)
        return _Machine(Interpreter(made.chart, made.bindings, input=made.input, clock=self._clock))

    # ------------------------------------------------------------ one row

    def step(self, record: StepRecord) -> None:
        """Step through one row."""
        machine = self._at(record)
        self._clock.time = record.time
        try:
            step = self._again(machine, record)
        except InterpreterError as error:
            raise ReplayError(self._run, record.seq, f"{record.actor}: {error}") from error
        if step is None:
            raise ReplayError(self._run, record.seq, f"{record.actor}: nothing was due")
        self._compare(step, record)
        for effect in step.effects:
            if isinstance(effect, StopInvocation):
                machine.children.pop(effect.id, None)
            elif isinstance(effect, StartInvocation):
                self._start(machine, effect)
        self._end_child(machine, record)

    def _again(self, machine: _Machine, record: StepRecord) -> Step | None:
        if not _is_revival(machine, record):
            return replay_step(machine.interpreter, record.event)
        # The run was taken up again here: what was running was brought back by its policy.
        old = machine.interpreter
        snapshot = old.snapshot()
        fresh = Interpreter(old.chart, old.bindings, input=snapshot["input"], clock=self._clock)
        step = fresh.restore(snapshot)
        machine.interpreter = fresh
        return step

    def _start(self, machine: _Machine, effect: StartInvocation) -> None:
        if effect.is_resumed and effect.id in machine.children:
            return
        machine.children.pop(effect.id, None)
        child = self._child(machine, effect.src, effect.input)
        if child is not None:
            machine.children[effect.id] = child

    @staticmethod
    def _end_child(machine: _Machine, record: StepRecord) -> None:
        """A child whose result was taken in is gone."""
        name = "" if record.event is None else record.event["name"]
        for prefix in ("done.invoke.", "error.invoke."):
            id = name.removeprefix(prefix)
            if name.startswith(prefix) and id not in machine.interpreter.invocations:
                machine.children.pop(id, None)

    def _at(self, record: StepRecord) -> _Machine:
        machine = self.root
        for id in record.actor.split("/")[1:]:
            found = machine.children.get(id)
            if found is None:
                raise ReplayError(self._run, record.seq, f"no machine {record.actor!r} is running")
            machine = found
        return machine

    def _compare(self, step: Step, record: StepRecord) -> None:
        """The step must be the recorded one."""
        found = tuple(encode_update(update) for update in step.updates)
        if step.configuration != tuple(record.configuration) or found != tuple(record.updates):
            raise ReplayError(
                self._run,
                record.seq,
                f"{record.actor} went to {{{', '.join(step.configuration)}}}, recorded was "
                f"{{{', '.join(record.configuration)}}}: the chart or its functions have changed since",
            )


def _is_revival(machine: _Machine, record: StepRecord) -> bool:
    """Whether a row only brought invocations back: no event, no change, nothing but starts."""
    return (
        machine.interpreter.is_started
        and record.event is None
        and not record.updates
        and bool(record.effects)
        and all(e["type"] == "start" and (e["attempt"] > 1 or e["resumed"]) for e in record.effects)
    )
