"""The decisions of a chart: where guards say which transition of a state an event takes, or that it takes none.

    - name: checking
      transitions:
        - {event: DONE, guard: is_fine,  target: done}       DONE in checking: three branches, to done, to idle,
        - {event: DONE, guard: is_empty, target: idle}       and none: the event goes on to the state above, if that
        - {event: STOP, target: idle}                        handles it. STOP: no decision, no guard has a say in it
      always:
        - {guard: is_late, target: late}                     without event in checking: two branches

A transition without a guard ends the decision; then, and where the guards are of a form that leaves nothing out
(`g` and `not g`), there is no branch for none.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TypeAlias

from rawko.chart.definition import Chart, Position, Transition
from rawko.chart.lint.guards import is_decided
from rawko.chart.lint.walk import is_always_false, is_always_true
from rawko.interpreter.compiled.structure import Structure, descriptor_matches, structure_of

Branch: TypeAlias = int | None
"""The index of the transition that is taken; None: none is."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What one event may come to in one state.

    Attributes:
        state: Its name.
        event: As the state writes it, a name or a wildcard; None: without event.
        branches: In the order in which they are asked, at least one transition; at last None, where it may be that none
            is taken.
        position: Of the first transition.
    """

    state: str
    event: str | None
    branches: tuple[Branch, ...]
    position: Position


class Decisions:
    """The decisions of a chart.

    Attributes:
        all: By state in document order, in a state in the order in which its transitions are asked.
        idle_states: Indices of the states with a decision that may take no transition.
    """

    def __init__(self, chart: Chart) -> None:
        structure = structure_of(chart)
        self._events = {state: _events(structure, state) for state in range(len(structure.states))}
        found = {
            (state, event): decision
            for state, events in self._events.items()
            for event in events
            if _may_happen(structure, state, event, events)
            and (decision := _decision(structure, state, event)) is not None
        }
        self.all = tuple(found.values())
        self._places = {key: place for place, key in enumerate(found)}
        self.idle_states = frozenset(state for (state, _), one in found.items() if one.branches[-1] is None)

    def place(self, state: int, event: str | None) -> int | None:
        """Which decision an event (None: none) meets in a state: the one that spells it out, else that of the narrowest
        wildcard; None where there is nothing to decide."""
        events = self._events[state]
        if event is not None and event not in events:
            matching = [each for each in events if each is not None and descriptor_matches(each, event)]
            if not matching:
                return None
            event = max(matching, key=len)
        return self._places.get((state, event))


def _events(structure: Structure, state: int) -> dict[str | None, None]:
    """What the transitions of a state listen to, in order."""
    found: dict[str | None, None] = {}
    for transition in structure.outgoing[state]:
        found.update(dict.fromkeys(structure.transitions[transition].events or (None,)))
    return found


def _may_happen(structure: Structure, state: int, event: str | None, events: Container[str | None]) -> bool:
    """Whether a wildcard for ends of invocations can match one that the state does not spell out."""
    if event is None or not event.endswith(".invoke.*"):
        return True
    prefix = event.removesuffix("*")
    return any(
        f"{prefix}{invoke.id}" not in events
        for other, definition in enumerate(structure.states)
        for invoke in definition.invoke
        if _may_be_active_together(structure, state, other)
    )


def _may_be_active_together(structure: Structure, one: int, other: int) -> bool:
    if one == other or structure.is_inside(one, other) or structure.is_inside(other, one):
        return True
    common = next(each for each in structure.ancestors[one] if structure.is_inside(other, each))
    return structure.is_parallel[common]


def _decision(structure: Structure, state: int, event: str | None) -> Decision | None:
    asked: list[Transition] = []
    for index in structure.outgoing[state]:
        transition = structure.transitions[index]
        if _listens(transition.events, event) and not is_always_false(transition.guard):
            asked.append(transition)
            if is_always_true(transition.guard):
                break
    if not asked or is_always_true(asked[0].guard):
        return None
    none = () if is_decided([transition.guard for transition in asked]) else (None,)
    branches = (*(transition.index for transition in asked), *none)
    return Decision(structure.names[state], event, branches, asked[0].position)


def _listens(descriptors: tuple[str, ...], event: str | None) -> bool:
    if event is None:
        return not descriptors
    # A wildcard stands for events that no transition spells out.
    name = event[:-1] + "\0" if event.endswith("*") else event
    return any(descriptor_matches(each, name) for each in descriptors)
