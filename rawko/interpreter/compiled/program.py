"""A chart with its bindings as a lazily built automaton: configurations, the rows they ask, the plans they take.

Shared by all interpreters of a chart and its bindings. Nothing per event scans the chart: a known configuration
knows its candidates by event, and a known choice its plan. What is not known yet is built once and kept, within a
bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from sismic.model import MetaEvent

from rawko.chart import definition as d
from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.bounds.limits import watch_after
from rawko.interpreter.compiled.functions import (
    CompiledAction,
    CompiledGuard,
    compile_action,
    compile_actions,
    compile_delay,
    compile_guard,
    compile_value,
    is_code,
    reads_configuration,
)
from rawko.interpreter.compiled.plans import Configuration, Entry, Outline, domain_of, initial_outline, outline
from rawko.interpreter.compiled.structure import Structure, structure_of
from rawko.interpreter.compiled.tables import (
    ACTION,
    CHECK,
    DONE,
    INVOKE,
    LEAVE,
    NO_ROWS,
    TIMERS,
    Block,
    Blocks,
    Branch,
    Candidate,
    CodeGuardCall,
    EventKey,
    HistoryBranch,
    Node,
    Operation,
    Part,
    Plan,
    Row,
    Rows,
    Way,
    Where,
)
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.errors import BindingError
from rawko.interpreter.foreign.meta_events import StateEvents

MAX_NODES = 4096
"""Configurations kept per chart, or as many as it has states, if that is more: a chart without parallel states has
no more of them. When full, all tables are dropped and built anew as needed."""

MAX_PARTS = 65_536
"""Parts of plans kept per chart; they hold no configuration alive."""

_SIMPLE = frozenset((ACTION, CHECK))
CompiledTimer: TypeAlias = tuple[d.After, Callable[[Any, Any], float]]


class Program:
    """A chart bound to functions.

    Raises:
        BindingError: Names of the chart that are not bound, all at once, with their positions.
    """

    def __init__(self, structure: Structure, bindings: Bindings) -> None:
        self.structure = structure
        self.max_nodes = max(MAX_NODES, len(structure.states))
        self.nodes: dict[Configuration, Node] = {}
        self._strays: list[Node] = []
        self._generation = 0
        self.uses_parts = structure.has_parallel
        self.has_eventless = any(not t.events for t in structure.transitions)
        self._rows_asked: dict[tuple[EventKey, Configuration], Rows] = {}
        self._parts: dict[tuple[int, Configuration], Part | None] = {}
        self._domains: dict[int, int] = {}
        self._initial: Plan | None = None
        self.exit_events = StateEvents("state exited", structure.names)
        self.entry_events = StateEvents("state entered", structure.names)
        self.exit_blocks: Blocks[int] = Blocks(self._exit_block)
        self.transition_blocks: Blocks[int] = Blocks(self._transition_block)
        self.entry_blocks: Blocks[Entry] = Blocks(self._entry_block)
        self.has_code = structure.chart.has_code
        self.asks_per_leaf = structure.chart.selection == "scxml" and structure.has_parallel
        self.watch_after = watch_after(structure.chart)
        self._compile(bindings)

    # ------------------------------------------------------------ compiling

    def _compile(self, bindings: Bindings) -> None:
        problems: list[str] = []

        def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BindingError as error:
                problems.append(str(error))
                return None

        def actions(found: tuple[d.Action, ...]) -> tuple[CompiledAction, ...]:
            return compile_actions(found, lambda action: attempt(compile_action, action, bindings))

        structure = self.structure
        states, transitions = structure.states, structure.transitions
        self.on_entry = tuple(actions(s.on_entry) for s in states)
        self.on_exit = tuple(actions(s.on_exit) for s in states)
        self.initial_actions = tuple(actions(s.initial_actions) for s in states)
        self.memory_actions = tuple(actions(s.memory_actions) for s in states)
        self.actions = tuple(actions(t.actions) for t in transitions)
        self.timers: tuple[tuple[CompiledTimer, ...], ...] = tuple(
            tuple((after, attempt(compile_delay, after.delay, bindings)) for after in s.after) for s in states
        )
        self.outputs = tuple(
            None if s.output is None else attempt(compile_value, s.output, "output", bindings, s.position)
            for s in states
        )
        self.inputs = {
            i.id: None if i.input is None else attempt(compile_value, i.input, "input", bindings, i.position)
            for s in states
            for i in s.invoke
        }
        self.timeouts = {
            i.id: None if i.timeout is None else attempt(compile_delay, i.timeout, bindings)
            for s in states
            for i in s.invoke
        }
        self.invocations = {i.id: i for s in states for i in s.invoke}
        self._silent = tuple(
            not (s.on_entry or s.on_exit or s.initial_actions or s.memory_actions or s.after or s.invoke)
            for s in states
        )
        self.starts = tuple(tuple((i, self.inputs[i.id], self.timeouts[i.id]) for i in s.invoke) for s in states)
        self.finalizers = {i.id: actions(i.finalize) for s in states for i in s.invoke if i.finalize}
        self.passes_on = bool(self.finalizers) or any(i.autoforward for i in self.invocations.values())
        self.errors_are_events = structure.chart.errors == "scxml"
        self._bindings_guards = {
            t.index: attempt(compile_guard, t.guard, bindings, lambda name: False)
            for t in transitions
            if t.guard is not None and not is_code(t.guard)
        }
        copy = bindings | Bindings()  # a program must not keep its own key alive
        self._guard_makers: dict[int, Callable[[Callable[[str], bool]], CompiledGuard]] = {
            t.index: partial(compile_guard, t.guard, copy)
            for t in transitions
            if t.guard is not None and reads_configuration(t.guard)
        }
        self.conditions = {
            (element, kind): tuple((g, attempt(_compile_condition, g, bindings)) for g in guards)
            for element, contract in [
                *((s.name, s.contract) for s in states),
                *((t.index, t.contract) for t in transitions),
            ]
            for kind, guards in (("before", contract.before), ("after", contract.after), ("always", contract.always))
            if guards
        }
        if problems:
            raise BindingError("\n".join(dict.fromkeys(problems)))
        self.has_contracts = bool(self.conditions)
        self.reads_old = {
            element
            for (element, _), found in self.conditions.items()
            if any(condition is not None and condition.reads_old for _, condition in found)
        }

        def bound(kind: str) -> frozenset[int]:
            names = {name for name, asked in self.conditions if asked == kind} | self.reads_old
            return frozenset(structure.index[name] for name in names if isinstance(name, str))

        self._bound_exits, self._bound_entries = bound("after"), bound("before")
        self.checks_inline = _are_plain(self.conditions)
        self._bound_transitions = frozenset(number for number, _ in self.conditions if isinstance(number, int))

    def news(self, plan: Plan) -> tuple[MetaEvent | d.Transition, ...]:
        """What listeners are told of a plan; see `Plan.news`."""
        drawn = plan.outline
        found: list[MetaEvent | d.Transition] = [self.exit_events[state] for state in drawn.exits]
        found += [self.structure.transitions[transition] for transition in drawn.transitions]
        found += [self.entry_events[entry.state] for entry in drawn.entries]
        plan.news = tuple(found)
        return plan.news

    def binds(self, drawn: Outline) -> bool:
        """Whether a contract binds something that is left, taken or entered."""
        return not (
            self._bound_exits.isdisjoint(drawn.exits)
            and self._bound_entries.isdisjoint(entry.state for entry in drawn.entries)
            and self._bound_transitions.isdisjoint(drawn.transitions)
        )

    def checked_operations(self, plan: Plan) -> tuple[Operation, ...]:
        """What a plan has to run, with what contracts have to say at its place."""
        found: list[Operation] = []
        names = self.structure.names

        def check(element: Any, *kinds: str) -> None:
            found.extend((CHECK, element, kind) for kind in kinds if (element, kind) in self.conditions)

        exits, transitions, entries = self.blocks(plan)
        for block in exits:
            found.extend(block.operations)
            check(names[block.element], "after")
        for block in transitions:
            check(block.element, "before", "always")
            found.extend(block.operations)
            check(block.element, "after", "always")
        for block in entries:
            check(names[block.element], "before")
            found.extend(block.operations)
        return tuple(found)

    # ------------------------------------------------------------ operations of one element

    def exit_operations(self, state: int) -> tuple[Operation, ...]:
        found = self._actions(self.on_exit[state], state, "on exit")
        definition = self.structure.states[state]
        if definition.after or definition.invoke:
            cancelled = tuple(after.event for after in definition.after)
            stopped = tuple(invoke.id for invoke in definition.invoke)
            found += ((LEAVE, state, (cancelled, stopped)),)
        return found

    def transition_operations(self, transition: int) -> tuple[Operation, ...]:
        text = _transition_text(self.structure.transitions[transition])
        return in_blocks(self.actions[transition], lambda: Where(text, "action", transition))

    def entry_operations(
        self, state: int, is_default: bool, history: int, done: tuple[tuple[str, int], ...]
    ) -> tuple[Operation, ...]:
        found = self._actions(self.on_entry[state], state, "on entry")
        if is_default:
            found += self._actions(self.initial_actions[state], state, "initial")
        if history >= 0:
            found += self._actions(self.memory_actions[history], history, "memory")
        if self.timers[state]:
            found += ((TIMERS, self.timers[state], state),)
        if self.structure.states[state].invoke:
            found += ((INVOKE, state, None),)
        return found + tuple((DONE, name, final) for name, final in done)

    def _actions(self, actions: tuple[CompiledAction, ...], state: int, role: str) -> tuple[Operation, ...]:
        return in_blocks(actions, lambda: Where(f"state {self.structure.names[state]!r} ({role})", role, state))

    def _exit_block(self, state: int) -> Block:
        return Block(state, self.exit_operations(state))

    def _transition_block(self, transition: int) -> Block:
        operations = self.transition_operations(transition) if self.actions[transition] else ()
        return Block(transition, operations)

    def _entry_block(self, entry: Entry) -> Block:
        return Block(entry.state, self.entry_operations(entry.state, entry.is_default, entry.history, entry.done))

    # ------------------------------------------------------------ the automaton

    def node(self, configuration: Configuration) -> Node:
        """The node of a configuration, made if new."""
        found = self.nodes.get(configuration)
        if found is None:
            if len(self.nodes) >= self.max_nodes:
                self._forget()
            found = self.nodes[configuration] = Node(self.structure, configuration, self._generation)
        return found

    def _forget(self) -> None:
        """Drop all tables; nodes that are in use stay valid, and empty."""
        for node in [*list(self.nodes.values()), *self._strays]:  # lists: other threads may be adding nodes
            node.forget()
        self.nodes.clear()
        self._strays = []
        self._rows_asked.clear()
        self._generation += 1
        self._initial = None

    def _keep(self, node: Node) -> None:
        """Know a node that is about to be filled: one that was dropped while in use would keep others alive."""
        if node.generation != self._generation:
            node.generation = self._generation
            self._strays.append(node)

    def rows(self, node: Node, key: EventKey) -> Rows:
        """The candidates of an event key in a configuration."""
        if key is None and not self.has_eventless:
            return NO_ROWS
        found = node.rows.get(key)
        if found is None:
            self._keep(node)
            found = node.rows[key] = self._make_rows(node, key)
        return found

    def _make_rows(self, node: Node, key: EventKey) -> Rows:
        """Where few states are asked, most configurations ask the same ones: these share their rows."""
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
        if not (self._guard_makers and any(t in self._guard_makers for state in asked for t in sources[state])):
            self._rows_asked[key, asked] = found
        return found

    def _paths(self, node: Node, rows: list[Row]) -> tuple[tuple[int, ...], ...]:
        """For each active leaf the rows of its ancestors and its own, inner ones first; each way up once."""
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
            guard = self.guard(node, transition)
            if guard is False:
                continue
            if guard is None or guard is True:  # the ones after it are never asked
                found.append((None, transition))
                break
            found.append((guard, transition))
        return tuple(found)

    def guard(self, node: Node, transition: int) -> CompiledGuard | None:
        """The guard of a transition in a configuration; code guards are given as a `CodeGuardCall`."""
        definition = self.structure.transitions[transition].guard
        if definition is None:
            return None
        if isinstance(definition, d.CodeGuard):
            return CodeGuardCall(transition)
        maker = self._guard_makers.get(transition)
        if maker is not None:
            return maker(node.names_set.__contains__)
        guard: CompiledGuard = self._bindings_guards[transition]
        return guard

    def plan(self, node: Node, chosen: tuple[int, ...], history: dict[int, tuple[int, ...]]) -> Plan:
        """What a choice does, with the history records of now."""
        found = node.plans.get(chosen)
        while found.__class__ is HistoryBranch:
            found = found.ways.get(history.get(found.history))
        if found is None:
            return self._make_plan(node, chosen, history)
        return found  # type: ignore[return-value]

    def way(self, node: Node, name: str, history: dict[int, tuple[int, ...]]) -> Way | None:
        """How an event is processed in a configuration, where that is simple, worked out once; see `Way`."""
        key = self.structure.event_key(name)
        if key in node.ways:
            return node.ways[key]
        rows = self.rows(node, key)
        self._keep(node)
        way = node.ways[key] = self._make_way(node, rows, history)
        return way

    def _make_way(self, node: Node, rows: Rows, history: dict[int, tuple[int, ...]]) -> Way | None:
        if self.passes_on or self.has_code:
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
        if len(rows.rows) == 1 and not self.errors_are_events:
            return Way(tuple([Branch(guard, (transition,)) for guard, transition in rows.rows[0][2]]), rows.receipt)
        return None

    def settle(self, node: Node, branch: Branch, history: dict[int, tuple[int, ...]]) -> Plan | None:
        """The plan of a branch that has none yet, with the history records of now; None: it takes the full way."""
        plan = self.plan(node, branch.chosen, history)
        if (
            not plan.is_direct
            or (self.errors_are_events and plan.operations)
            or (self.has_eventless and self.rows(plan.target, None).rows)
        ):
            branch.is_full = True
            return None
        if node.plans.get(branch.chosen) is plan:  # no history has a say in it
            branch.plan = plan
        return plan

    def blocks(self, plan: Plan) -> tuple[list[Block], list[Block], list[Block]]:
        """The operations of a plan by state left, transition taken and state entered, for those who go one by one."""
        drawn = plan.outline
        return (
            [self.exit_blocks[state] for state in drawn.exits],
            [self.transition_blocks[transition] for transition in drawn.transitions],
            [self.entry_blocks[entry] for entry in drawn.entries],
        )

    def _plan_of(self, drawn: Outline, target: Node | None) -> Plan:
        """An outline with its code."""
        silent = self._silent
        operations: list[Operation] = []
        for state in drawn.exits:
            if not silent[state]:
                operations += self.exit_blocks[state].operations
        for transition in drawn.transitions:
            if self.actions[transition]:
                operations += self.transition_blocks[transition].operations
        for entry in drawn.entries:
            if entry.done or entry.history >= 0 or not silent[entry.state]:
                operations += self.entry_blocks[entry].operations
        plan = Plan(self.structure, drawn, tuple(operations))
        if operations and not all(kind in _SIMPLE for kind, _, _ in operations):
            plan.is_direct = False
        if target is not None:
            plan.target = target
        if self.has_code and any(kind == ACTION and what.code is not None for kind, what, _ in plan.operations):
            plan.has_code = True
            plan.is_still = False
        if self.has_contracts and self.binds(drawn):
            plan.is_bound = True
            if self.checks_inline:
                plan.operations = self.checked_operations(plan)
        return plan

    def _make_plan(self, node: Node, chosen: tuple[int, ...], history: dict[int, tuple[int, ...]]) -> Plan:
        consulted: dict[int, tuple[int, ...] | None] = {}

        def recall(state: int) -> tuple[int, ...] | None:
            return consulted.setdefault(state, history.get(state))

        self._keep(node)
        plan = self._join(node, chosen) if self.uses_parts else None
        if plan is None:
            drawn = outline(self.structure, node.configuration, chosen, recall)
            plan = self._plan_of(drawn, self.node(drawn.configuration))
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
        """The plan from what its transitions do by themselves, where none of them sees more than its own domain.

        Configurations of many regions hardly ever come again, but what a region does, does.
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
        return self._plan_of(drawn, self.node(configuration))

    def _part(self, configuration: Configuration, transition: int) -> Part | None:
        """What a transition does, by the active states in its domain. None if that is not all that it looks at:
        history, or final states, whose parents may be done with others."""
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
        """The domain of a transition, or -2 if it hangs on history; worked out once."""
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
        return Part(self._plan_of(drawn, None))

    def initial_plan(self) -> Plan:
        """The entry of the first configuration."""
        if self._initial is None:
            drawn = initial_outline(self.structure)
            self._initial = self._plan_of(drawn, self.node(drawn.configuration))
        return self._initial


def _are_plain(conditions: Mapping[tuple[Any, str], Any]) -> bool:
    """Whether contracts need nothing but context and event where they are asked: no invariants of states, no earlier
    context, no configuration in mid-step, no code."""
    return not any(
        condition is None or condition.reads_old or reads_configuration(guard)
        for (element, kind), found in conditions.items()
        for guard, condition in found
    ) and not any(isinstance(element, str) and kind == "always" for element, kind in conditions)


def in_blocks(actions: tuple[CompiledAction, ...], where: Callable[[], Where]) -> tuple[Operation, ...]:
    """Actions as operations; those of one block share one `Where`."""
    if not actions:
        return ()
    places: dict[int, Where] = {}
    for action in actions:
        if action.block not in places:
            places[action.block] = where()
    return tuple((ACTION, action, places[action.block]) for action in actions)


def _compile_condition(guard: d.Guard, bindings: Bindings) -> Any:
    """A contract condition as a function of (context, event, old, is_active)."""
    from rawko.interpreter.compiled.contracts import compile_condition

    return compile_condition(guard, bindings)


def _transition_text(transition: d.Transition) -> str:
    targets = ", ".join(transition.targets) or "(no target)"
    return f"transition {transition.source} -> {targets}"


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
