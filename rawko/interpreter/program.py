"""A chart with its bindings as a lazily built automaton: configurations, the rows they ask, the plans they take.

Shared by all interpreters of a chart and its bindings. Nothing per event scans the chart: a known configuration
knows its candidates by event, and a known choice its plan. What is not known yet is built once and kept, within a
bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

from rawko.chart import definition as d
from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.code import (
    CompiledAction,
    CompiledGuard,
    GuardFunction,
    compile_action,
    compile_actions,
    compile_delay,
    compile_guard,
    compile_value,
    is_code,
    reads_configuration,
)
from rawko.interpreter.errors import BindingError
from rawko.interpreter.meta import StateEvents
from rawko.interpreter.plans import Configuration, Outline, describe, domain_of, initial_outline, outline
from rawko.interpreter.steps import Receipt
from rawko.interpreter.structure import Structure, structure_of

MAX_NODES = 4096
"""Configurations kept per chart, or as many as it has states, if that is more: a chart without parallel states has
no more of them. When full, all tables are dropped and built anew as needed."""

MAX_PARTS = 65_536
"""Parts of plans kept per chart; they hold no configuration alive."""

ACTION: Final = 0
LEAVE: Final = 1
TIMERS: Final = 2
INVOKE: Final = 3
DONE: Final = 4
Operation: TypeAlias = tuple[int, Any, Any]
"""(ACTION, CompiledAction, where) (LEAVE, state, -) (TIMERS, timers, state) (INVOKE, state, -) (DONE, name, output)."""

Candidate: TypeAlias = tuple[GuardFunction | None, int]
Row: TypeAlias = tuple[int, frozenset[int], tuple[Candidate, ...]]
CompiledTimer: TypeAlias = tuple[d.After, Callable[[Any, Any], float]]


@dataclass(frozen=True, slots=True)
class Where:
    """The chart element that an action or a condition belongs to, for errors and trusted code."""

    text: str
    role: str
    element: int


@dataclass(slots=True)
class Block:
    """Everything of one exited or entered state, or of one transition, for the observed way."""

    element: int
    operations: tuple[Operation, ...]


class Plan:
    """An outline with its code.

    Attributes:
        operations: What there is to run, in order; empty for most transitions.
        has_code: Trusted Python code runs, of which nobody knows what it changes.
        is_bound: A contract has a word about something that it leaves, takes or enters.
    """

    __slots__ = (
        "entered",
        "entries",
        "exited",
        "exits",
        "finished_by",
        "has_code",
        "is_bound",
        "operations",
        "outline",
        "structure",
        "target",
        "transitions",
        "writes",
    )

    structure: Structure
    outline: Outline
    exits: tuple[Block, ...]
    transitions: tuple[Block, ...]
    entries: tuple[Block, ...]
    operations: tuple[Operation, ...]
    exited: tuple[str, ...]
    entered: tuple[str, ...]
    writes: tuple[tuple[int, tuple[int, ...]], ...]
    finished_by: int
    target: Node
    has_code: bool
    is_bound: bool

    def __init__(self, program: Program, outline_: Outline, target: Node) -> None:
        structure = program.structure
        self.target = target
        self.structure = structure
        self.outline = outline_
        self.exits = tuple(Block(s, program.exit_operations(s)) for s in outline_.exits)
        self.transitions = tuple(Block(t, program.transition_operations(t)) for t in outline_.transitions)
        self.entries = tuple(
            Block(e.state, program.entry_operations(e.state, e.is_default, e.history, e.done)) for e in outline_.entries
        )
        self.operations = tuple(
            operation for block in (*self.exits, *self.transitions, *self.entries) for operation in block.operations
        )
        self.exited = tuple(structure.names[s] for s in outline_.exits)
        self.entered = tuple(structure.names[e.state] for e in outline_.entries)
        self.writes = outline_.writes
        self.finished_by = outline_.finished_by
        self.has_code = any(kind == ACTION and what.code is not None for kind, what, _ in self.operations)
        self.is_bound = program.has_contracts and program.binds(outline_)

    def towards(self, target: Node) -> Plan:
        """The same plan where more states are active, which it does not touch."""
        plan = Plan.__new__(Plan)
        for name in Plan.__slots__:
            setattr(plan, name, getattr(self, name))
        plan.target = target
        return plan


NOWHERE: Any = None
"""The target of a part: only the whole has one."""


class HistoryBranch:
    """Plans of one choice that depend on history records: which record to look at, and where each value leads."""

    __slots__ = ("history", "ways")

    def __init__(self, history: int) -> None:
        self.history = history
        self.ways: dict[tuple[int, ...] | None, Plan | HistoryBranch] = {}


class Rows:
    """The candidates of one event in one configuration, in the order in which they are asked.

    Attributes:
        receipt: What the sender is told where no candidate is taken.
        fixed: The choice, where no guard has a say; else None.
        plan: The plan of the fixed choice, once built, if it just goes from one stable configuration to another:
            no code, no timers, no history to look up, nothing eventless to follow. Such a step cannot fail.
        is_checked: Whether that has been found out.
    """

    __slots__ = ("fixed", "is_checked", "plan", "receipt", "rows")

    def __init__(self, rows: tuple[Row, ...], receipt: Receipt) -> None:
        self.rows = rows
        self.receipt = receipt
        self.plan: Plan | None = None
        self.is_checked = False
        self.fixed: tuple[int, ...] | None = None
        if all(candidates[0][0] is None for _, _, candidates in rows):
            chosen: list[int] = []
            passed: set[int] = set()
            for state, ancestors, candidates in rows:
                if state not in passed:
                    chosen.append(candidates[0][1])
                    passed |= ancestors
            self.fixed = tuple(chosen)


class Node:
    """One configuration with everything known about it."""

    __slots__ = ("__weakref__", "_names", "_names_set", "_structure", "configuration", "plans", "rows")

    def __init__(self, structure: Structure, configuration: Configuration) -> None:
        self.configuration = configuration
        self._structure = structure
        self._names: tuple[str, ...] | None = None
        self._names_set: frozenset[str] | None = None
        self.rows: dict[str | tuple[str, ...] | None, Rows] = {}
        self.plans: dict[tuple[int, ...], Plan | HistoryBranch] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Active states by depth and name, as sismic lists them."""
        if self._names is None:
            self._names = describe(self._structure, self.configuration)
        return self._names

    @property
    def names_set(self) -> frozenset[str]:
        """Names of the active states."""
        if self._names_set is None:
            self._names_set = frozenset(self._structure.names[s] for s in self.configuration)
        return self._names_set

    def __repr__(self) -> str:
        return f"Node({', '.join(self.names)})"


class Program:
    """A chart bound to functions.

    Raises:
        BindingError: Names of the chart that are not bound, all at once, with their positions.
    """

    def __init__(self, structure: Structure, bindings: Bindings) -> None:
        self.structure = structure
        self.max_nodes = max(MAX_NODES, len(structure.states))
        self.nodes: dict[Configuration, Node] = {}
        self._living: WeakValueDictionary[int, Node] = WeakValueDictionary()
        self._count = count()
        self.uses_parts = structure.has_parallel
        self._parts: dict[tuple[int, Configuration], Plan | None] = {}
        self._domains: dict[int, int] = {}
        self._initial: Plan | None = None
        self.exit_events = StateEvents("state exited", structure.names)
        self.entry_events = StateEvents("state entered", structure.names)
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
        elements = {element for element, _ in self.conditions}
        self._bound_states = frozenset(structure.index[name] for name in elements if isinstance(name, str))
        self._bound_transitions = frozenset(number for number in elements if isinstance(number, int))
        self.reads_old = {
            element
            for (element, _), found in self.conditions.items()
            if any(condition is not None and condition.reads_old for _, condition in found)
        }

    def binds(self, drawn: Outline) -> bool:
        """Whether a contract has a word about something that is left, taken or entered."""
        return not (
            self._bound_states.isdisjoint(drawn.exits)
            and self._bound_states.isdisjoint(entry.state for entry in drawn.entries)
            and self._bound_transitions.isdisjoint(drawn.transitions)
        )

    # ------------------------------------------------------------ operations of one element

    def exit_operations(self, state: int) -> tuple[Operation, ...]:
        found = self._actions(self.on_exit[state], state, "on exit")
        if self.timers[state] or self.structure.states[state].invoke:
            found += ((LEAVE, state, None),)
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

    # ------------------------------------------------------------ the automaton

    def node(self, configuration: Configuration) -> Node:
        """The node of a configuration, made if new."""
        found = self.nodes.get(configuration)
        if found is None:
            if len(self.nodes) >= self.max_nodes:
                self._forget()
            found = self.nodes[configuration] = Node(self.structure, configuration)
            self._living[next(self._count)] = found
        return found

    def _forget(self) -> None:
        """Drop all tables; nodes that are in use stay valid, and empty.

        Also those of nodes dropped before: in use, they were filled again, and would keep others alive.
        """
        for reference in self._living.valuerefs():  # a list: other threads may be adding nodes
            if (node := reference()) is not None:
                node.rows.clear()
                node.plans.clear()
        self.nodes.clear()
        self._initial = None

    def rows(self, node: Node, key: str | tuple[str, ...] | None) -> Rows:
        """The candidates of an event key in a configuration."""
        found = node.rows.get(key)
        if found is None:
            found = node.rows[key] = self._make_rows(node, key)
        return found

    def _make_rows(self, node: Node, key: str | tuple[str, ...] | None) -> Rows:
        sources = self.structure.sources(key)
        asked = node.configuration & sources.keys()
        rows: list[Row] = []
        if asked:
            for state in self.structure.post_order(asked):
                if candidates := self._candidates(node, sources[state]):
                    rows.append((state, frozenset(self.structure.ancestors[state]), candidates))
        receipt = Receipt.DENIED if asked else Receipt.NOT_HANDLED if sources else Receipt.UNKNOWN
        return Rows(tuple(rows), receipt)

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

    def note_plain(self, node: Node, rows: Rows, plan: Plan) -> None:
        """Remember the plan of a fixed choice at its rows, if nothing can come between."""
        rows.is_checked = True
        if (
            rows.fixed is not None
            and node.plans.get(rows.fixed) is plan
            and not plan.operations
            and plan.finished_by < 0
            and not self.passes_on
            and not self.rows(plan.target, None).rows
        ):
            rows.plan = plan

    def _make_plan(self, node: Node, chosen: tuple[int, ...], history: dict[int, tuple[int, ...]]) -> Plan:
        consulted: dict[int, tuple[int, ...] | None] = {}

        def recall(state: int) -> tuple[int, ...] | None:
            return consulted.setdefault(state, history.get(state))

        plan = self._join(node, chosen) if self.uses_parts else None
        if plan is None:
            drawn = outline(self.structure, node.configuration, chosen, recall)
            plan = Plan(self, drawn, self.node(drawn.configuration))
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
        found: list[Plan] = []
        for transition in chosen:
            part = self._part(node.configuration, transition)
            if part is None:
                return None
            found.append(part)
        exits = [state for part in found for state in part.outline.exits]
        exited = frozenset(exits)
        if len(exited) != len(exits):
            return None  # a conflict
        entered = [entry for part in found for entry in part.outline.entries]
        configuration = (node.configuration - exited).union(entry.state for entry in entered)
        target = self.node(configuration)
        if len(found) == 1:
            return found[0].towards(target)
        drawn = Outline(
            exits=tuple(sorted(exits, reverse=True)),
            transitions=chosen,
            entries=tuple(sorted(entered, key=lambda entry: entry.state)),
            writes=tuple(sorted(write for part in found for write in part.outline.writes)),
            configuration=configuration,
            finished_by=-1,
        )
        return Plan(self, drawn, target)

    def _part(self, configuration: Configuration, transition: int) -> Plan | None:
        """What a transition does, by the active states in its domain. None if that is not all that it looks at:
        history, or final states, whose parents may be done with others."""
        structure = self.structure
        domain = self._domain(transition)
        last = structure.last[domain] if domain >= 0 else -1
        inside = frozenset(state for state in configuration if domain < state <= last)
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

    def _make_part(self, transition: int, domain: int, inside: Configuration) -> Plan | None:
        if domain == -2:
            return None
        consulted: list[int] = []
        around = (domain, *self.structure.ancestors[domain]) if domain >= 0 else ()
        drawn = outline(self.structure, inside.union(around), (transition,), consulted.append)
        if consulted or any(self.structure.is_final[entry.state] for entry in drawn.entries):
            return None
        return Plan(self, drawn, NOWHERE)

    def initial_plan(self) -> Plan:
        """The entry of the first configuration."""
        if self._initial is None:
            drawn = initial_outline(self.structure)
            self._initial = Plan(self, drawn, self.node(drawn.configuration))
        return self._initial


def in_blocks(actions: tuple[CompiledAction, ...], where: Callable[[], Where]) -> tuple[Operation, ...]:
    """Actions as operations; those of one block share one `Where`."""
    places: dict[int, Where] = {}
    for action in actions:
        if action.block not in places:
            places[action.block] = where()
    return tuple((ACTION, action, places[action.block]) for action in actions)


class CodeGuardCall:
    """A guard that the evaluator of a trusted chart decides."""

    __slots__ = ("transition",)

    def __init__(self, transition: int) -> None:
        self.transition = transition

    def __call__(self, context: Any, event: Any) -> Any:
        raise AssertionError("asked by the interpreter through its evaluator")


def _compile_condition(guard: d.Guard, bindings: Bindings) -> Any:
    """A contract condition as a function of (context, event, old, is_active)."""
    from rawko.interpreter.contracts import compile_condition

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
    programs = _PROGRAMS.setdefault(chart, WeakKeyDictionary())
    program = programs.get(bindings)
    if program is None:
        program = programs[bindings] = Program(structure_of(chart), bindings)
    return program
