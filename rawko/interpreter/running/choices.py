"""A machine that notes how it chooses: every candidate transition of a step, and why it was taken or not.

For looking at a recorded step once more; other machines do not pay for this.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rawko.interpreter.compiled.contracts import condition_text
from rawko.interpreter.compiled.tables import Rows
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.steps import MicroStep, Step
from rawko.interpreter.running.explain import guard_seen
from rawko.interpreter.running.interpreter import Interpreter

Verdict = Literal["taken", "guard", "not asked", "preempted", "error"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One transition that might have been taken.

    Attributes:
        index: In the chart.
        event: What it listens to; "" for one without an event.
        verdict: "taken"; "guard": it was false; "not asked": an earlier one of the same state, or of a state inside,
            was true; "preempted": its exits would have met those of a transition before it; "error": the guard raised.
        guard: The expression as the chart writes it, "" without one.
        values: Of each name in the guard. `reads`: what the guard read of the context.
        position: "file:line:col" of the transition.
    """

    index: int
    source: str
    targets: tuple[str, ...]
    event: str
    verdict: Verdict
    guard: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    reads: dict[str, Any] = field(default_factory=dict)
    position: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One selection within a macrostep: for its event, or (event "") for what follows by itself.

    Attributes:
        configuration: Active states when it was made.
        candidates: In the order in which they are asked, inner states first.
    """

    event: str
    configuration: tuple[str, ...]
    candidates: tuple[Candidate, ...]

    @property
    def is_taken(self) -> bool:
        return any(candidate.verdict == "taken" for candidate in self.candidates)


class Choosing(Interpreter):
    """An interpreter that notes its choices while `choices` is a list."""

    choices: list[Choice] | None = None

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._observed().on_choice = self._note

    def _note(self, rows: Rows, event: Event | None, chosen: tuple[int, ...]) -> None:
        if self.choices is not None:
            self.choices.append(self._noted(rows, event, chosen))

    def _noted(self, rows: Rows, event: Event | None, chosen: tuple[int, ...]) -> Choice:
        noted: list[Candidate] = []
        passed: frozenset[int] = frozenset()
        asked = _asked(rows, chosen)
        for place, (state, ancestors, candidates) in enumerate(rows.rows):
            is_open = state not in passed if asked is None else place in asked
            for _, transition in candidates:
                is_chosen = transition in chosen
                noted.append(self._candidate(transition, event, is_asked=is_open, is_chosen=is_chosen))
                if is_chosen:
                    passed |= ancestors | {state}
                    is_open = False
        return Choice("" if event is None else event.name, self._machine.names, tuple(noted))

    def _candidate(self, index: int, event: Event | None, *, is_asked: bool, is_chosen: bool) -> Candidate:
        definition = self._machine.program.structure.transitions[index]
        verdict: Verdict = "taken" if is_chosen else "guard" if is_asked else "not asked"
        values: dict[str, Any] = {}
        reads: dict[str, Any] = {}
        if definition.guard is not None and is_asked:
            machine = self._machine
            assert machine.node is not None
            values, reads = guard_seen(machine, machine.node, index, machine.event)
        return Candidate(
            index=index,
            source=definition.source,
            targets=definition.targets,
            event="" if event is None else event.name,
            verdict=verdict,
            guard="" if definition.guard is None else condition_text(definition.guard),
            values=values,
            reads=reads,
            position=str(definition.position),
        )


def _asked(rows: Rows, chosen: tuple[int, ...]) -> set[int] | None:
    """With SCXML's selection: places of the rows that some leaf has come to; None without."""
    if rows.paths is None:
        return None
    asked: set[int] = set()
    for path in rows.paths:
        for place in path:
            asked.add(place)
            if any(transition in chosen for _, transition in rows.rows[place][2]):
                break
    return asked


def choices_of(machine: Choosing, step: Step) -> tuple[Choice, ...]:
    """All choices of the step that the machine has just taken, in their order; also those that needed no guard.

    A transition that was chosen and is in no microstep of the step was preempted.
    """
    micros = [micro for micro in step.steps if micro.indexes]
    taken = {index for micro in micros for index in micro.indexes}
    noted = deque(_settled(choice, taken) for choice in machine.choices or () if choice.candidates)
    found: list[Choice] = []
    for micro in micros:
        if any(_has(choice, micro.indexes[0]) for choice in noted):
            while not _has(noted[0], micro.indexes[0]):
                found.append(noted.popleft())
            found.append(noted.popleft())
        else:
            found.append(_unguarded(machine, micro))
    return (*found, *noted)


def _has(choice: Choice, index: int) -> bool:
    return any(candidate.index == index and candidate.verdict == "taken" for candidate in choice.candidates)


def _settled(choice: Choice, taken: set[int]) -> Choice:
    kept = (
        replace(candidate, verdict="preempted")
        if candidate.verdict == "taken" and candidate.index not in taken
        else candidate
        for candidate in choice.candidates
    )
    return replace(choice, candidates=tuple(kept))


def _unguarded(machine: Choosing, micro: MicroStep) -> Choice:
    event = "" if micro.event is None else micro.event.name
    transitions = machine._machine.program.structure.transitions
    candidates = tuple(
        Candidate(index, t.source, t.targets, event, "taken", position=str(t.position))
        for index in micro.indexes
        for t in (transitions[index],)
    )
    return Choice(event, tuple(sorted({c.source for c in candidates})), candidates)
