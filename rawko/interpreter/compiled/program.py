"""A bound chart as a lazily built automaton: configurations, candidates per event, plans per choice.

All interpreters of a chart and its bindings share it. No event makes the interpreter scan the chart: a known
configuration has its candidates by event, and a known choice its plan. Missing entries are built on demand and kept, up
to a bound.
"""

from __future__ import annotations

from typing import TypeAlias
from weakref import WeakKeyDictionary

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.compiled.bound_chart import BoundChart
from rawko.interpreter.compiled.outlines import Configuration, Outline, domain_of, initial_outline, outline
from rawko.interpreter.compiled.structure import Structure, structure_of
from rawko.interpreter.compiled.tables import (
    NO_ROWS,
    Branch,
    Candidate,
    EventKey,
    HistoryBranch,
    Node,
    Part,
    Plan,
    Row,
    Rows,
    Way,
)
from rawko.interpreter.data.receipt import Receipt

MAX_NODES = 4096
"""Most configurations kept per chart, or the number of its states if that is larger: a chart without parallel states
has no more configurations. When full, all tables are dropped and rebuilt on demand.
"""

Place: TypeAlias = tuple[Node, dict[int, tuple[int, ...]], bool]
"""Where a machine is, as shared parts: its node, its history records, whether it has ended."""

MAX_PARTS = 65_536
"""Most parts of plans kept per chart; parts refer to no configuration."""


class Program:
    """The tables of a bound chart, filled as machines need them.

    Attributes:
        nodes: By configuration; only configurations that machines can be in.
        legal_records: History records that have been checked, with the index of the history; at most MAX_NODES.
        known_places: Parts of snapshot texts that have been checked, see `running.snapshot_text`; at most MAX_NODES.

    Raises:
        BindingError: See `BoundChart`.
    """

    def __init__(self, structure: Structure, bindings: Bindings) -> None:
        self.structure = structure
        self.bound = BoundChart(structure, bindings)
        self.max_nodes = max(MAX_NODES, len(structure.states))
        self.nodes: dict[Configuration, Node] = {}
        self.legal_records: set[tuple[int, tuple[int, ...]]] = set()
        self.known_places: dict[tuple[str, str], Place] = {}
        self._strays: list[Node] = []
        self._generation = 0
        self.uses_parts = structure.has_parallel
        self.has_eventless = any(not t.events for t in structure.transitions)
        self.asks_per_leaf = structure.chart.selection == "scxml" and structure.has_parallel
        self._rows_asked: dict[tuple[EventKey, Configuration], Rows] = {}
        self._parts: dict[tuple[int, Configuration], Part | None] = {}
        self._domains: dict[int, int] = {}
        self._initial: Plan | None = None

    def node(self, configuration: Configuration) -> Node:
        """The node of a configuration, created if new."""
        found = self.nodes.get(configuration)
        if found is None:
            if len(self.nodes) >= self.max_nodes:
                self._forget()
            found = self.nodes[configuration] = Node(self.structure, configuration, self._generation)
        return found

    def _forget(self) -> None:
        """Drop all tables; nodes that machines still use stay valid, with empty tables."""
        for node in [*list(self.nodes.values()), *self._strays]:  # lists: other threads may add nodes meanwhile
            node.forget()
        self.nodes.clear()
        self.known_places.clear()
        self._strays = []
        self._rows_asked.clear()
        self._generation += 1
        self._initial = None

    def _keep(self, node: Node) -> None:
        """Register a node before it is filled: a node dropped while in use would otherwise keep others alive."""
        if node.generation != self._generation:
            node.generation = self._generation
            self._strays.append(node)

    def rows(self, node: Node, key: EventKey) -> Rows:
        """The candidates for an event key in a configuration."""
        if key is None and not self.has_eventless:
            return NO_ROWS
        found = node.rows.get(key)
        if found is None:
            self._keep(node)
            found = node.rows[key] = self._make_rows(node, key)
        return found

    def _make_rows(self, node: Node, key: EventKey) -> Rows:
        """The candidates; configurations with the same active states among those that have transitions for the key
        share them.
        """
        structure = self.structure
        sources = structure.sources(key)
        asked = node.configuration & structure.askers(key)
        found = None if self.asks_per_leaf else self._rows_asked.get((key, asked))
        if found is not None:
            return found
        rows: list[Row] = []
        for state in structure.post_order(asked) if len(asked) > 1 else asked:
            if candidates := self._candidates(node, sources[state]):
                rows.append((state, frozenset(structure.ancestors[state]), candidates))
        receipt = Receipt.DENIED if asked else Receipt.NOT_HANDLED if sources else Receipt.UNKNOWN
        if self.asks_per_leaf:
            return Rows(tuple(rows), receipt, self._paths(node, rows))
        found = Rows(tuple(rows), receipt)
        if not self.bound.reads_configuration(asked, sources):
            self._rows_asked[key, asked] = found
        return found

    def _paths(self, node: Node, rows: list[Row]) -> tuple[tuple[int, ...], ...]:
        """For each active leaf, the rows of itself and its ancestors, inner ones first; each distinct path once."""
        structure = self.structure
        places = {state: place for place, (state, _, _) in enumerate(rows)}
        if not places:
            return ()
        found: dict[tuple[int, ...], None] = {}
        for leaf in sorted(node.configuration):
            if node.configuration.isdisjoint(structure.children[leaf]):
                way = tuple(places[state] for state in (leaf, *structure.ancestors[leaf]) if state in places)
                if way:
                    found.setdefault(way)
        return tuple(found)

    def _candidates(self, node: Node, transitions: tuple[int, ...]) -> tuple[Candidate, ...]:
        found: list[Candidate] = []
        for transition in transitions:
            guard = self.bound.guard(node, transition)
            if guard is False:
                continue
            if guard is None or guard is True:  # the candidates after it are never reached
                found.append((None, transition))
                break
            found.append((guard, transition))
        return tuple(found)

    def plan(self, node: Node, chosen: tuple[int, ...], history: dict[int, tuple[int, ...]]) -> Plan:
        """The plan of a choice, given the current history records."""
        found = node.plans.get(chosen)
        while found.__class__ is HistoryBranch:
            found = found.ways.get(history.get(found.history))
        if found is None:
            return self._make_plan(node, chosen, history)
        return found  # type: ignore[return-value]

    def way(self, node: Node, name: str, history: dict[int, tuple[int, ...]]) -> Way | None:
        """How an event is processed in a configuration, if no full macrostep is needed; else None. See `Way`."""
        key = self.structure.event_key(name)
        if key in node.ways:
            return node.ways[key]
        rows = self.rows(node, key)
        self._keep(node)
        way = node.ways[key] = self._make_way(node, rows, history)
        return way

    def _make_way(self, node: Node, rows: Rows, history: dict[int, tuple[int, ...]]) -> Way | None:
        """The way of an event; None if it needs the full macrostep each time.

        no guard decides           one branch, without a guard; None if its plan needs the full macrostep (`settle`)
        no state has candidates    no branch, only the receipt; for an unknown event `stability.process` decides
        one state has candidates   one branch per candidate; `settle` finds later which of them need the full macrostep
        several states have them   None: a state is asked only if no state inside it takes the event
        """
        if self.bound.passes_on or self.bound.has_code:
            return None
        if rows.fixed:
            branch = Branch(None, rows.fixed)
            plan = self.settle(node, branch, history)
            if plan is None:
                return None
            way = Way((branch,), rows.receipt)
            way.plan = None if plan.operations else branch.plan
            return way
        if self.has_eventless and self.rows(node, None).rows:
            return None  # an event that is not taken may still make an eventless guard true
        if not rows.rows:
            return None if rows.receipt is Receipt.UNKNOWN else Way((), rows.receipt)
        if len(rows.rows) == 1 and not self.bound.errors_are_events:
            return Way(tuple([Branch(guard, (transition,)) for guard, transition in rows.rows[0][2]]), rows.receipt)
        return None

    def settle(self, node: Node, branch: Branch, history: dict[int, tuple[int, ...]]) -> Plan | None:
        """The plan of a branch that has none yet, given the current history records; None if it needs the full
        macrostep.
        """
        plan = self.plan(node, branch.chosen, history)
        if (
            not plan.is_direct
            or (self.bound.errors_are_events and plan.operations)
            or (self.has_eventless and self.rows(plan.target, None).rows)
        ):
            branch.is_full = True
            return None
        if node.plans.get(branch.chosen) is plan:  # the plan depends on no history record
            branch.plan = plan
        return plan

    def _make_plan(self, node: Node, chosen: tuple[int, ...], history: dict[int, tuple[int, ...]]) -> Plan:
        """Make the plan of a choice, and store it under the history records that it was made with.

        Example: h is a shallow history state of a, which has the children a1 (its initial) and a2.

            b -> c                      consults no record    node.plans[b -> c] is the plan
            b -> h, h has no record     consults h: None      node.plans[b -> h] is HistoryBranch(h) {None: plan to a1}
            b -> h, h has recorded a2   consults h: (a2,)     the same branch gets a second entry, (a2,): plan to a2

        A plan that consults several records is stored in nested branches, one level per record.
        """
        consulted: dict[int, tuple[int, ...] | None] = {}

        def recall(state: int) -> tuple[int, ...] | None:
            return consulted.setdefault(state, history.get(state))

        self._keep(node)
        plan = self._join(node, chosen) if self.uses_parts else None
        if plan is None:
            drawn = outline(self.structure, node.configuration, chosen, recall)
            plan = self.bound.plan_of(drawn, self.node(drawn.configuration))
        if not consulted:
            node.plans[chosen] = plan
            return plan
        branch = node.plans.get(chosen)
        steps = list(consulted.items())
        if branch is None:
            branch = node.plans[chosen] = HistoryBranch(steps[0][0])
        for position, (state, value) in enumerate(steps):
            assert isinstance(branch, HistoryBranch) and branch.history == state
            if position + 1 == len(steps):
                branch.ways[value] = plan
            else:
                following = branch.ways.get(value)
                if following is None:
                    following = branch.ways[value] = HistoryBranch(steps[position + 1][0])
                branch = following
        return plan

    def _join(self, node: Node, chosen: tuple[int, ...]) -> Plan | None:
        """The plan put together from the parts of its transitions; None if one of them depends on more than its domain.

        Configurations of many regions rarely recur, but what a transition does inside one region recurs. An example:
        region r1 has a -E-> b, region r2 has x -E-> y.

            {a, x} takes E    parts of a -> b and x -> y are built; joined: exits x, a; entries b, y
            {a, y} takes E    the part of a -> b is used again
        """
        found: list[Part] = []
        for transition in chosen:
            part = self._part(node.configuration, transition)
            if part is None:
                return None
            found.append(part)
        if len(found) == 1:
            (part,) = found
            return part.plan.towards(self.node((node.configuration - part.exited) | part.entered))
        exits = [state for part in found for state in part.plan.outline.exits]
        exited = frozenset(exits)
        if len(exited) != len(exits):
            return None  # a conflict
        configuration = (node.configuration - exited).union(*[part.entered for part in found])
        drawn = Outline(
            exits=tuple(sorted(exits, reverse=True)),
            transitions=chosen,
            entries=tuple(sorted(entry for part in found for entry in part.plan.outline.entries)),
            writes=tuple(sorted(write for part in found for write in part.plan.outline.writes)),
            configuration=configuration,
            finished_by=-1,
        )
        return self.bound.plan_of(drawn, self.node(configuration))

    def _part(self, configuration: Configuration, transition: int) -> Part | None:
        """What a transition does, by the active states in its domain. None if it depends on more: on history, or on
        final states, whose completed ancestors depend on other regions.
        """
        domain = self._domain(transition)
        inside = configuration & self.structure.inside(domain)
        key = (transition, inside)
        part = self._parts.get(key)
        if part is None and key not in self._parts:
            if len(self._parts) >= MAX_PARTS:
                self._parts.clear()
            part = self._parts[key] = self._make_part(transition, domain, inside)
        return part

    def _domain(self, transition: int) -> int:
        """The domain of a transition, or -2 if it depends on history; computed once."""
        domain = self._domains.get(transition)
        if domain is None:
            consulted: list[int] = []
            domain = domain_of(self.structure, transition, consulted.append)
            self._domains[transition] = domain = -2 if consulted else domain
        return domain

    def _make_part(self, transition: int, domain: int, inside: Configuration) -> Part | None:
        if domain == -2:
            return None
        consulted: list[int] = []
        around = (domain, *self.structure.ancestors[domain]) if domain >= 0 else ()
        drawn = outline(self.structure, inside.union(around), (transition,), consulted.append)
        if consulted or any(self.structure.is_final[entry.state] for entry in drawn.entries):
            return None
        return Part(self.bound.plan_of(drawn, None))

    def initial_plan(self) -> Plan:
        """The plan that enters the first configuration."""
        if self._initial is None:
            drawn = initial_outline(self.structure)
            self._initial = self.bound.plan_of(drawn, self.node(drawn.configuration))
        return self._initial


_PROGRAMS: WeakKeyDictionary[Chart, WeakKeyDictionary[Bindings, Program]] = WeakKeyDictionary()


def program_of(chart: Chart, bindings: Bindings) -> Program:
    """The program of a chart and its bindings, made once.

    Raises:
        BindingError: See `Program`.
    """
    programs = _PROGRAMS.get(chart)
    if programs is None:
        programs = _PROGRAMS.setdefault(chart, WeakKeyDictionary())
    program = programs.get(bindings)
    if program is None:
        program = programs[bindings] = Program(structure_of(chart), bindings)
    return program
