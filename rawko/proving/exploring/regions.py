"""The regions of a configuration that a step can depend on or change, from the chart alone.

    p (parallel)     r1: a -> b on X      r2: c -> d on Y      r3: e -> f on X, guard in_state('c')
    X                r1, r3 and r2: r3 asks for the state of r2
    Y                r2
    CANCEL           all: its transition exits p

Uncertain cases count as all regions: a step that concerns few regions here certainly concerns no others. Regions are
the children of parallel states that are inside no other parallel state; they include all states inside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rawko.chart import definition as d
from rawko.interpreter.compiled.structure import Structure
from rawko.proving.bounds import Bounds

OUTSIDE = -1


class Regions:
    """The regions of one chart.

    Attributes:
        roots: The top state of each region, by index.
        of: For each state its region, or OUTSIDE.
        ending: Regions by parallel state, for each parallel state that ends when all of its regions have ended.
    """

    def __init__(self, structure: Structure, bounds: Bounds) -> None:
        self._structure = structure
        self._bounds = bounds
        of = [OUTSIDE] * len(structure.states)
        roots: list[int] = []
        ending: dict[int, tuple[int, ...]] = {}
        for state, is_parallel in enumerate(structure.is_parallel):
            if not is_parallel or of[state] != OUTSIDE:
                continue
            first = len(roots)
            for child in structure.children[state]:
                of[child : structure.last[child] + 1] = [len(roots)] * (structure.last[child] + 1 - child)
                roots.append(child)
            if all(self.ends(root) for root in roots[first:]):
                ending[state] = tuple(range(first, len(roots)))
        self.roots = tuple(roots)
        self.of = tuple(of)
        self.ending = ending
        self._transitions: list[list[d.Transition]] = [[] for _ in roots]
        for transition in structure.transitions:
            region = of[structure.source[transition.index]]
            if region != OUTSIDE:
                self._transitions[region].append(transition)
        self._raised = [self._raised_in(region) for region in range(len(roots))]
        self._restless = self._find_restless()
        self._leave_quietly = not structure.has_history and not any(
            state.on_exit or state.after
            for state, region in zip(structure.states, of, strict=True)
            if region != OUTSIDE
        )

    def ends(self, root: int) -> bool:
        """Whether a region can end."""
        structure = self._structure
        if structure.is_parallel[root]:
            return all(self.ends(child) for child in structure.children[root])
        return structure.is_final[root] or any(structure.is_final[child] for child in structure.children[root])

    def concerned(self, event: str) -> frozenset[int] | None:
        """Regions that a macrostep of the event can read or change; None: all, and what is outside them.

        It may always read what is outside the regions, and whether all other regions have ended.
        """
        if self._restless is None:
            return None
        search = _Search(self)
        for region in self._restless:
            search.touch(region)
        search.events.append(event)
        return search.run()

    def leaves_all(self, event: str) -> bool:
        """Whether a macrostep of the event exits all regions in whatever state they are, or changes nothing: CANCEL of
        a parallel state or an ancestor. Its outcome then depends only on what is outside the regions."""
        if self._restless is None or self._restless or not self._leave_quietly:
            return False
        index = self._structure.index
        found = list(self.listeners(event))
        return bool(found) and all(
            self.source(one) == OUTSIDE
            and one.targets
            and not one.internal
            and not self.read_by(one.guard)
            and all(self.of[index[target]] == OUTSIDE for target in one.targets)
            for one in found
        )

    # ------------------------------------------------------------ parts of the search

    def listeners(self, event: str) -> Iterator[d.Transition]:
        """Transitions that the event may trigger."""
        structure = self._structure
        for transitions in structure.sources(structure.event_key(event)).values():
            for index in transitions:
                yield structure.transitions[index]

    def source(self, transition: d.Transition) -> int:
        """Region of a transition's source."""
        return self.of[self._structure.source[transition.index]]

    def stays(self, transition: d.Transition) -> bool:
        """Whether a transition exits and enters only states below the top of its region."""
        structure = self._structure
        root = self.roots[self.source(transition)]
        source = structure.source[transition.index]
        targets = structure.targets[transition.index]
        return not targets or all(structure.is_inside(state, root) for state in (source, *targets))

    def read_by(self, guard: d.Guard | None) -> set[int]:
        """Regions whose states a guard asks for by `in_state`."""
        names = _states_asked(guard)
        return {self.of[self._structure.index[name]] for name in names} - {OUTSIDE}

    def inside(self, region: int) -> list[d.Transition]:
        """Transitions whose source is in a region."""
        return self._transitions[region]

    def raised(self, region: int) -> frozenset[str]:
        """Internal events that a step in a region may raise."""
        return self._raised[region]

    def raised_by(self, actions: Iterable[d.Action]) -> set[str]:
        """Internal events that actions may raise."""
        found: set[str] = set()
        for action in d.flat(tuple(actions)):
            if isinstance(action, d.RaiseAction):
                found.add(action.event)
            elif isinstance(action, d.CallAction):
                found.update(self._bounds.raises.get(action.name, ()))
        return found

    def _raised_in(self, region: int) -> frozenset[str]:
        structure, root = self._structure, self.roots[region]
        found: set[str] = set()
        for index in range(root, structure.last[root] + 1):
            state = structure.states[index]
            found.add(f"done.state.{state.name}")
            found |= self.raised_by((*state.initial_actions, *state.memory_actions, *state.on_entry, *state.on_exit))
        for transition in self._transitions[region]:
            found |= self.raised_by(transition.actions)
        return frozenset(found)

    def _find_restless(self) -> frozenset[int] | None:
        """Regions in which an eventless transition may be taken after any event; None: there is one outside them.

        A state with an eventless transition without a guard is exited at once: it is never active between events.
        """
        found: set[int] = set()
        for state in self._structure.states:
            eventless = [t for t in state.transitions if not t.events]
            if not eventless or any(t.guard is None and t.targets for t in eventless):
                continue
            region = self.source(eventless[0])
            if region == OUTSIDE:
                return None
            found.add(region)
        return frozenset(found)


class _Search:
    """Follows events from region to region."""

    def __init__(self, regions: Regions) -> None:
        self.regions = regions
        self.events: list[str] = []
        self.found: set[int] = set()
        self._touched: set[int] = set()
        self._is_all = False

    def run(self) -> frozenset[int] | None:
        seen: set[str] = set()
        while self.events and not self._is_all:
            event = self.events.pop()
            if event in seen:
                continue
            seen.add(event)
            for transition in self.regions.listeners(event):
                self.take(transition)
        return None if self._is_all else frozenset(self.found)

    def take(self, transition: d.Transition) -> None:
        """Note that a transition may be taken."""
        regions = self.regions
        self.found |= regions.read_by(transition.guard)
        region = regions.source(transition)
        if region == OUTSIDE:
            self._is_all = self._is_all or bool(transition.targets)
            self.events += regions.raised_by(transition.actions)
        elif regions.stays(transition):
            self.touch(region)
        else:
            self._is_all = True

    def touch(self, region: int) -> None:
        """Note that a region may change; the regions that its guards ask for and the events that it raises follow."""
        if region in self._touched:
            return
        self._touched.add(region)
        self.found.add(region)
        self.events += sorted(self.regions.raised(region))
        for transition in self.regions.inside(region):
            self.found |= self.regions.read_by(transition.guard)
            if not transition.events:
                self.take(transition)


def _states_asked(guard: d.Guard | None) -> set[str]:
    if isinstance(guard, d.InState):
        return {guard.state}
    if isinstance(guard, d.Not):
        return _states_asked(guard.operand)
    if isinstance(guard, d.And | d.Or):
        return {name for operand in guard.operands for name in _states_asked(operand)}
    return set()
