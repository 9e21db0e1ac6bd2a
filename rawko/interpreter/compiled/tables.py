"""What a program has worked out so far: who is asked for an event in a configuration, and what a choice does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from rawko.interpreter.compiled.functions import CompiledAction, GuardFunction
from rawko.interpreter.compiled.plans import Configuration, Entry, Outline, describe
from rawko.interpreter.compiled.structure import Structure
from rawko.interpreter.data.json_text import to_text
from rawko.interpreter.data.receipt import Receipt

if TYPE_CHECKING:
    from sismic.model import MetaEvent

    from rawko.chart.definition import Transition

ACTION: Final = 0
LEAVE: Final = 1
TIMERS: Final = 2
INVOKE: Final = 3
DONE: Final = 4
CHECK: Final = 5
Operation: TypeAlias = tuple[int, Any, Any]
"""(ACTION, CompiledAction, where) (LEAVE, state, (timers cancelled, invocations stopped)) (TIMERS, timers, state)
(INVOKE, state, -) (DONE, name, output) (CHECK, state name or transition, kind of condition)."""

EventKey: TypeAlias = str | tuple[str, ...] | None
"""What selection depends on, see `Structure.event_key`; None for eventless transitions."""
Candidate: TypeAlias = tuple[GuardFunction | None, int]
Row: TypeAlias = tuple[int, frozenset[int], tuple[Candidate, ...]]


@dataclass(frozen=True, slots=True)
class Where:
    """The chart element that an action or a condition belongs to, for errors and trusted code."""

    text: str
    role: str
    element: int


@dataclass(slots=True)
class Block:
    """Everything of one exited or entered state, or of one transition."""

    element: int
    operations: tuple[Operation, ...]


_Key = TypeVar("_Key", int, Entry)


class Blocks(dict[_Key, Block], Generic[_Key]):
    """A block for each element, made when a plan first needs it and shared by all plans."""

    def __init__(self, make: Callable[[_Key], Block]) -> None:
        super().__init__()
        self._make: Callable[[_Key], Block] = make

    def __missing__(self, element: _Key) -> Block:
        found: Block = self._make(element)
        self[element] = found
        return found


def only_action(operations: tuple[Operation, ...]) -> CompiledAction | None:
    """The action that is all there is to run; None where there is nothing, something else, or more."""
    if len(operations) != 1:
        return None
    ((kind, what, _),) = operations
    return what if kind == ACTION else None


class Plan:
    """An outline with its code.

    Attributes:
        operations: What there is to run where nobody listens, in order; empty for most transitions.
        action: Its only operation, where that is an action; None where it has none or more.
        has_code: Trusted Python code runs, which may change anything.
        is_bound: A contract binds something that it leaves, takes or enters.
        is_direct: Its operations are only actions and conditions, and the machine goes on.
        is_still: It changes nothing by itself: it leaves and enters nothing, and no code of its own runs.
        news: What listeners are told of it, in order: a meta-event, or the transition that was processed; made
            when it is first told.
        target: Where it leads; a part of a plan has none, only the whole has.
    """

    __slots__ = (
        "action",
        "finished_by",
        "has_code",
        "is_bound",
        "is_direct",
        "is_still",
        "news",
        "operations",
        "outline",
        "structure",
        "target",
        "writes",
    )

    target: Node

    def __init__(self, structure: Structure, drawn: Outline, operations: tuple[Operation, ...]) -> None:
        self.structure = structure
        self.outline = drawn
        self.operations = operations
        self.action = only_action(operations)
        self.writes = drawn.writes
        self.finished_by = drawn.finished_by
        self.has_code = False
        self.is_bound = False
        self.is_direct = drawn.finished_by < 0
        self.is_still = not (drawn.exits or drawn.entries)
        self.news: tuple[MetaEvent | Transition, ...] | None = None

    @property
    def exited(self) -> list[str]:
        """Names of the states that it leaves, in order."""
        return [self.structure.names[state] for state in self.outline.exits]

    @property
    def entered(self) -> list[str]:
        """Names of the states that it enters, in order."""
        return [self.structure.names[entry.state] for entry in self.outline.entries]

    def towards(self, target: Node) -> Plan:
        """The same plan where more states are active, which it does not touch."""
        plan = Plan.__new__(Plan)
        plan.target = target
        plan.structure = self.structure
        plan.outline = self.outline
        plan.operations = self.operations
        plan.action = self.action
        plan.writes = self.writes
        plan.finished_by = self.finished_by
        plan.has_code = self.has_code
        plan.is_bound = self.is_bound
        plan.is_direct = self.is_direct
        plan.is_still = self.is_still
        plan.news = self.news
        return plan


class CodeGuardCall:
    """A guard that the evaluator of a trusted chart decides."""

    __slots__ = ("transition",)

    def __init__(self, transition: int) -> None:
        self.transition = transition

    def __call__(self, context: Any, event: Any) -> Any:
        raise AssertionError("the evaluator is asked instead")


class Part:
    """What one transition does by itself, with the states that it leaves and enters as sets."""

    __slots__ = ("entered", "exited", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.exited = frozenset(plan.outline.exits)
        self.entered = frozenset(entry.state for entry in plan.outline.entries)


class HistoryBranch:
    """Plans of one choice that depend on history records: which record to look at, and where each value leads."""

    __slots__ = ("history", "ways")

    def __init__(self, history: int) -> None:
        self.history = history
        self.ways: dict[tuple[int, ...] | None, Plan | HistoryBranch] = {}


class Rows:
    """The candidates of one event, in the order in which they are asked, where a certain set of states is active.

    Attributes:
        receipt: What the sender is told where no candidate is taken.
        fixed: The choice, where no guard has a say; else None.
        paths: With SCXML's selection: for each active leaf, in document order, the rows on its way up, as places in
            `rows`. None: a state is asked where nothing inside it fires.
    """

    __slots__ = ("fixed", "paths", "receipt", "rows")

    def __init__(
        self, rows: tuple[Row, ...], receipt: Receipt, paths: tuple[tuple[int, ...], ...] | None = None
    ) -> None:
        self.rows = rows
        self.receipt = receipt
        self.paths = paths
        self.fixed: tuple[int, ...] | None = None
        if not rows:
            self.fixed = ()
        elif len(rows) == 1:
            guard, transition = rows[0][2][0]
            self.fixed = (transition,) if guard is None else None
        elif paths is not None:
            if all(candidates[0][0] is None for _, _, candidates in rows):
                self.fixed = tuple(dict.fromkeys(rows[path[0]][2][0][1] for path in paths))
        elif all(candidates[0][0] is None for _, _, candidates in rows):
            chosen: list[int] = []
            passed: set[int] = set()
            for state, ancestors, candidates in rows:
                if state not in passed:
                    chosen.append(candidates[0][1])
                    passed.update(ancestors)
            self.fixed = tuple(chosen)


NO_ROWS = Rows((), Receipt.UNKNOWN)
"""Of eventless transitions in a chart that has none."""


class Branch:
    """One candidate of a way: the guard, and what follows where it is true.

    Attributes:
        guard: None: always true.
        chosen: The transitions, as `Node.plans` has them.
        plan: None as long as it was never taken, and where it takes the full macrostep.
        is_full: It does: there are timers, invocations, done events, a history to look up, eventless transitions to
            follow, or the machine ends.
    """

    __slots__ = ("chosen", "guard", "is_full", "plan")

    def __init__(self, guard: GuardFunction | None, chosen: tuple[int, ...]) -> None:
        self.guard = guard
        self.chosen = chosen
        self.plan: Plan | None = None
        self.is_full = False


class Way:
    """All that an event comes to in a configuration, where that is simple: see `plain_step.plain_macrostep`.

    Attributes:
        branches: In the order in which they are asked; the first that is true is taken.
        plan: The plan of the only branch, if it has no guard and no operations: such a step cannot fail.
        receipt: What the sender is told where none is true.
    """

    __slots__ = ("branches", "plan", "receipt")

    def __init__(self, branches: tuple[Branch, ...], receipt: Receipt) -> None:
        self.branches = branches
        self.receipt = receipt
        self.plan: Plan | None = None


NOT_KNOWN: Any = object()
"""In place of a way that nothing has asked for so far."""


class Node:
    """One configuration with everything known about it.

    Attributes:
        rows: By event key.
        plans: By the transitions chosen.
        ways: By event key: how the event is processed without a full macrostep; None: only by that.
        generation: Of the program's tables, see `Program.node`.
    """

    __slots__ = (
        "_document_text",
        "_names",
        "_names_set",
        "_structure",
        "configuration",
        "generation",
        "plans",
        "rows",
        "ways",
    )

    def __init__(self, structure: Structure, configuration: Configuration, generation: int) -> None:
        self.configuration = configuration
        self.generation = generation
        self._structure = structure
        self._names: tuple[str, ...] | None = None
        self._names_set: frozenset[str] | None = None
        self._document_text = ""
        self.rows: dict[EventKey, Rows] = {}
        self.plans: dict[tuple[int, ...], Plan | HistoryBranch] = {}
        self.ways: dict[EventKey, Way | None] = {}

    def forget(self) -> None:
        """Know nothing but the configuration."""
        self.rows.clear()
        self.plans.clear()
        self.ways.clear()

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

    @property
    def in_document_order(self) -> list[str]:
        """Active states as snapshots list them."""
        names = self._structure.names
        return [names[state] for state in sorted(self.configuration)]

    @property
    def document_text(self) -> str:
        """The same as JSON text, made once."""
        if not self._document_text:
            self._document_text = to_text(self.in_document_order)
        return self._document_text

    def __repr__(self) -> str:
        return f"Node({', '.join(self.names)})"
