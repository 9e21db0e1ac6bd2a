"""Converts a `sismic.model.Statechart`, with its Python code, to a `Chart` that needs trust."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any, Literal

from sismic.model import (
    CompoundState,
    DeepHistoryState,
    FinalState,
    HistoryStateMixin,
    OrthogonalState,
    ShallowHistoryState,
    Statechart,
)
from sismic.model import Transition as SismicTransition

from rawko.chart.assemble import sealed
from rawko.chart.definition import (
    Action,
    Chart,
    CodeAction,
    CodeGuard,
    Contract,
    Guard,
    Position,
    State,
    StateKind,
    Transition,
)
from rawko.chart.grammar import PRIORITIES

SiblingOrder = Literal["imported", "registered"]

_KINDS: tuple[tuple[type, StateKind], ...] = (
    (ShallowHistoryState, "shallow history"),
    (DeepHistoryState, "deep history"),
    (FinalState, "final"),
    (CompoundState, "compound"),
    (OrthogonalState, "parallel"),
)


def from_statechart(statechart: Statechart, *, sibling_order: SiblingOrder | None = None) -> Chart:
    """A chart with the meaning of the statechart. The statechart is copied; no reference to it is kept.

    Guards, actions and contracts stay Python text (`has_code`); the caller decides whether they may run.

    Args:
        sibling_order: sismic's reader registers siblings last first; a statechart built in code registers them in
            the order of the calls. "imported" reverses them, "registered" keeps them. None: "imported" if states
            were registered depth first, as the reader does, else "registered".

    Raises:
        ValueError: The statechart has no root.
    """
    if statechart.root is None:
        raise ValueError(f"statechart {statechart.name!r} has no root state")
    order = sibling_order or _guessed_order(statechart)
    copier = _Copier(statechart, is_reversed=order == "imported")
    copier.add(statechart.root)
    return sealed(
        Chart(
            name=str(statechart.name),
            root=statechart.root,
            states=MappingProxyType(copier.states),
            transitions=tuple(copier.transitions),
            description=statechart.description or "",
            preamble=statechart.preamble or "",
            file=copier.position.file,
            position=copier.position,
        )
    )


def _guessed_order(statechart: Statechart) -> SiblingOrder:
    """Guess the order: whether states were registered in a depth-first walk over the registered children."""
    walked: list[str] = []
    stack = [statechart.root]
    while stack:
        name = stack.pop()
        assert name is not None
        walked.append(name)
        stack.extend(reversed(statechart.children_for(name)))
    # `_states` keeps the order of registration; the public `states` is sorted by name.
    return "imported" if walked == list(statechart._states) else "registered"


class _Copier:
    """Copies a statechart in document order."""

    def __init__(self, statechart: Statechart, *, is_reversed: bool) -> None:
        self._statechart = statechart
        self._is_reversed = is_reversed
        self._outgoing: dict[str, list[SismicTransition]] = {}
        for transition in statechart.transitions:
            self._outgoing.setdefault(transition.source, []).append(transition)
        self.position = Position(f"<statechart {statechart.name}>")
        self.states: dict[str, State] = {}
        self.transitions: list[Transition] = []

    def add(self, root: str) -> None:
        """Copy a state and all its descendants, in document order; iteratively, since they may nest very deep."""
        waiting: list[tuple[str, str | None]] = [(root, None)]
        while waiting:
            name, parent = waiting.pop()
            waiting += [(child, name) for child in reversed(self._add(name, parent))]

    def _add(self, name: str, parent: str | None) -> list[str]:
        found: Any = self._statechart.state_for(name)
        children = list(self._statechart.children_for(name))
        if self._is_reversed:
            children.reverse()
        transitions = tuple(self._transition(transition) for transition in self._outgoing.get(name, ()))
        self.states[name] = State(
            name=name,
            order=len(self.states),
            kind=_kind(found, children),
            parent=parent,
            children=tuple(children),
            initial=_some(found.initial) if isinstance(found, CompoundState) else (),
            memory=_some(found.memory) if isinstance(found, HistoryStateMixin) else (),
            on_entry=self._action(found.on_entry),
            on_exit=self._action(found.on_exit),
            transitions=transitions,
            contract=self._contract(found),
            position=self.position,
        )
        return children

    def _transition(self, found: SismicTransition) -> Transition:
        made = Transition(
            index=len(self.transitions),
            source=found.source,
            events=_some(found.event),
            targets=_some(found.target),
            guard=CodeGuard(found.guard, self.position) if found.guard else None,
            actions=self._action(found.action),
            priority=_priority(found.priority),
            contract=self._contract(found),
            position=self.position,
        )
        self.transitions.append(made)
        return made

    def _action(self, code: str | None) -> tuple[Action, ...]:
        return (CodeAction(code, self.position),) if code else ()

    def _contract(self, found: Any) -> Contract:
        conditions = (found.preconditions, found.postconditions, found.invariants)
        return Contract(*map(self._conditions, conditions))

    def _conditions(self, codes: Iterable[str]) -> tuple[Guard, ...]:
        return tuple(CodeGuard(code, self.position) for code in codes)


def _kind(state: object, children: list[str]) -> StateKind:
    for kind, name in _KINDS:
        if isinstance(state, kind):
            return "atomic" if name in ("compound", "parallel") and not children else name
    return "atomic"


def _some(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _priority(priority: int | str) -> int:
    return PRIORITIES[priority] if isinstance(priority, str) and priority in PRIORITIES else int(priority)
