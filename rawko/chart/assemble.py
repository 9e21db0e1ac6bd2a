"""Builds the immutable `Chart` from drafts: document order, indices, events of transitions, kinds, positions, hash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from rawko.chart.canonical import chart_hash
from rawko.chart.definition import (
    NO_CONTRACT,
    Action,
    After,
    And,
    BlockAction,
    Chart,
    CodeAction,
    CodeGuard,
    CodeValue,
    Contract,
    Guard,
    Invoke,
    Mark,
    Not,
    Or,
    Position,
    State,
    StateKind,
    Transition,
    TransitionOrigin,
)
from rawko.chart.errors import places
from rawko.chart.quick import quick
from rawko.chart.reading.reader import Reader
from rawko.chart.reading.states import ChartDraft, StateDraft
from rawko.chart.reading.transitions import EntryDraft, InvokeDraft, TimerDraft, TransitionDraft


def assemble(draft: ChartDraft, reader: Reader, *, may_have_code: bool) -> Chart:
    """The chart that the drafts describe. Reports duplicate names; `lint` checks the other rules.

    Args:
        may_have_code: Whether texts may have been read as Python code; if not, the chart is not searched for code.
    """
    assembler = _Assembler(reader)
    root: StateDraft = draft.values["root state"]
    assembler.add(root, None)
    assembler.marks.update(_chart_marks(draft))
    given = draft.values
    chart = Chart(
        name=given["name"],
        root=root.name,
        states=MappingProxyType(assembler.states),
        transitions=tuple(assembler.transitions),
        description=given.get("description", ""),
        version=given.get("version", ""),
        context=given.get("context"),
        events=MappingProxyType(given.get("events", {})),
        preamble=given.get("preamble", ""),
        errors=given.get("errors", "rollback"),
        selection=given.get("selection", "inner"),
        data_model=given.get("data model", ""),
        migrations=given.get("migrate", ()),
        file=reader.document.file,
        position=draft.position,
        marks=MappingProxyType(assembler.marks),
    )
    return sealed(chart) if may_have_code else replace(chart, hash_of=chart_hash)


def sealed(chart: Chart) -> Chart:
    """The same chart with `has_code` set, and with its hash, which is computed on first access."""
    return replace(chart, hash_of=chart_hash, has_code=_has_code(chart))


def _chart_marks(draft: ChartDraft) -> dict[Mark, Position]:
    return {("chart", key): position for key, position in draft.keys.items()}


NO_ENTRY = EntryDraft()
_make_state = quick(State)
_make_transition = quick(Transition)


class _Assembler:
    """Walks drafts in document order (pre-order), and assigns orders and indices."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.states: dict[str, State] = {}
        self.transitions: list[Transition] = []
        self.marks: dict[Mark, Position] = {}
        self._invocations: dict[str, Position] = {}

    def add(self, draft: StateDraft, parent: str | None) -> None:
        name = draft.name
        if name in self.states:
            first = self.states[draft.name].position
            where = places([first], draft.name_position)
            message = f"a state named {draft.name!r} exists in {where} already; names are unique in a chart"
            self._reader.report("duplicate-state", draft.name_position, message)
            self._reader.is_partial = True
            return
        first_index = len(self.transitions)
        timers, invocations = self._moves(draft)
        given = draft.values.get
        initial: EntryDraft = given("initial", NO_ENTRY)
        memory: EntryDraft = given("memory", NO_ENTRY)
        children = draft.children
        self.states[name] = _make_state(  # by place: twenty keywords take twice as long
            name,
            len(self.states),
            _kind(draft),
            parent,
            tuple([child.name for child in children]),
            initial.targets,
            initial.actions,
            memory.targets,
            memory.actions,
            given("on entry", ()),
            given("on exit", ()),
            tuple(self.transitions[first_index:]),
            tuple(invocations),
            tuple(timers),
            given("output"),
            given("contract", NO_CONTRACT),
            given("description", ""),
            given("tags", ()),
            given("meta", {}),
            draft.position,
        )
        for key, position in draft.keys.items():
            self.marks[(key, name)] = position
        for child in children:
            self.add(child, name)

    def _moves(self, draft: StateDraft) -> tuple[list[After], list[Invoke]]:
        """Add the transitions under all keys of a state, in the order of the keys."""
        timers: list[After] = []
        invocations: list[Invoke] = []
        name = draft.name
        for key, value in draft.values.items():
            if key == "transitions":
                self._add_all(name, "transitions", value)
            elif key == "always":
                self._add_all(name, "always", value, ())
            elif key == "on done":
                self._add_all(name, "on done", value, (f"done.state.{name}",))
            elif key == "after":
                for timer in value:
                    timers.append(self._timer(name, len(timers), timer))
            elif key == "invoke":
                invocations.extend(self._invocation(name, invocation) for invocation in value)
        return timers, invocations

    def _timer(self, state: str, index: int, draft: TimerDraft) -> After:
        timer = After(state, index, draft.delay, draft.on_restore, draft.position)
        self._add_all(state, "after", draft.transitions, (timer.event,))
        return timer

    def _invocation(self, state: str, draft: InvokeDraft) -> Invoke:
        if draft.id in self._invocations:
            first = self._invocations[draft.id]
            where = places([first], draft.position)
            message = f"an invoke with id {draft.id!r} exists in {where} already; give each a different 'id'"
            self._reader.report("duplicate-invoke", draft.position, message)
        self._invocations.setdefault(draft.id, draft.position)
        self.marks[("src", draft.id)] = draft.src_position
        for key in draft.order:
            if key == "on done":
                self._add_all(state, "invoke on done", draft.on_done, (f"done.invoke.{draft.id}",))
            elif key == "on error":
                self._add_all(state, "invoke on error", draft.on_error, (f"error.invoke.{draft.id}",))
            else:
                self._add_all(state, "invoke on each", draft.on_each, (f"each.invoke.{draft.id}",))
        return Invoke(
            draft.id,
            draft.src,
            state,
            draft.input,
            draft.timeout,
            draft.on_restore,
            draft.finalize,
            draft.autoforward,
            draft.position,
            draft.for_each,
        )

    def _add_all(
        self,
        state: str,
        origin: TransitionOrigin,
        drafts: Iterable[TransitionDraft],
        events: tuple[str, ...] | None = None,
    ) -> None:
        """Add transitions. `events`: the events that the key implies; None: the events that each draft names."""
        transitions, marks = self.transitions, self.marks
        for draft in drafts:
            index = len(transitions)
            for place, position in enumerate(draft.target_positions):
                marks[("target", index, place)] = position
            transitions.append(
                _make_transition(
                    index,
                    state,
                    draft.events if events is None else events,
                    draft.targets,
                    draft.guard,
                    draft.actions,
                    draft.internal,
                    draft.priority,
                    draft.contract,
                    origin,
                    draft.description,
                    draft.position,
                )
            )


def _kind(draft: StateDraft) -> StateKind:
    written: StateKind | None = draft.values.get("type")
    if written is not None:
        return written
    if draft.values.get("states"):
        return "compound"
    return "parallel" if draft.values.get("parallel states") else "atomic"


# ---------------------------------------------------------------- code


def _has_code(chart: Chart) -> bool:
    return bool(chart.preamble) or any(map(_state_has_code, chart))


def _state_has_code(state: State) -> bool:
    return (
        _is_code(state.on_entry)
        or _is_code(state.on_exit)
        or _is_code(state.initial_actions)
        or _is_code(state.memory_actions)
        or _contract_has_code(state.contract)
        or any(map(_transition_has_code, state.transitions))
        or any(isinstance(invoke.input, CodeValue) or _is_code(invoke.finalize) for invoke in state.invoke)
        or isinstance(state.output, CodeValue)
    )


def _transition_has_code(transition: Transition) -> bool:
    guard = transition.guard
    return (
        (guard is not None and _guard_has_code(guard))
        or _is_code(transition.actions)
        or _contract_has_code(transition.contract)
    )


def _is_code(actions: tuple[Action, ...]) -> bool:
    for action in actions:
        kind = type(action)
        if kind is CodeAction or (isinstance(action, BlockAction) and _is_code(action.actions)):
            return True
    return False


def _contract_has_code(contract: Contract) -> bool:
    return contract is not NO_CONTRACT and any(
        map(_guard_has_code, (*contract.before, *contract.after, *contract.always))
    )


def _guard_has_code(guard: Guard) -> bool:
    match guard:
        case CodeGuard():
            return True
        case Not(operand):
            return _guard_has_code(operand)
        case And(operands) | Or(operands):
            return any(map(_guard_has_code, operands))
        case _:
            return False
