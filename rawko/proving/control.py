"""One macrostep as a pure function of control: all its outcomes, for any data. Each is computed once.

    control      (active states, history records, eventless transitions that were not enabled), as a number
    outcomes     (control, event) -> one `Outcome` per combination of the guards' answers

The macrostep is the interpreter's own (`rawko.interpreter.stepping`), on a chart without data (`skeleton`). Its guards
ask a `Script`: the first run answers each new question with true, the next run changes the last answer that was true,
and so on until all combinations were run. A guard keeps its answer as long as neither event nor data changes.

    E: [g] a; [h] b      g -> a      not g, h -> b      not g, not h -> nothing
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final

from rawko.chart.definition import Action, CallAction, Chart, flat
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.clocks import SimulatedClock
from rawko.interpreter.data.events import INIT, make_event
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.errors import EventlessCycleError
from rawko.interpreter.stepping.machine import Machine
from rawko.interpreter.stepping.microstep import microstep
from rawko.interpreter.stepping.recovery import undo
from rawko.interpreter.stepping.stability import process, stabilise
from rawko.interpreter.stepping.transaction import Transaction
from rawko.proving.bounding.endings import FIELDS, Endings, EndKind
from rawko.proving.bounds import NO_BOUNDS, Bounds
from rawko.proving.budgets import Budgets
from rawko.proving.contexts import BoundedContext, OutOfBounds
from rawko.proving.hearing.runs import Part, Steps, parts_of, traced
from rawko.proving.hearing.traces import NOTHING_HEARD, Heard
from rawko.proving.outcomes import (
    BEYOND,
    CYCLE,
    LONG,
    ROUND,
    UNHANDLED,
    Control,
    Outcome,
    bare,
    staged,
)
from rawko.proving.script import Repeated, Script, scripted_bindings, settled
from rawko.proving.skeleton import NotProvable, skeleton

MAX_OUTCOMES: Final = 1024
"""Most outcomes of one macrostep; a chart with more is not explored completely."""
MICROSTEPS: Final = 120
"""Most microsteps of one macrostep; whether a longer one ends depends on its data."""


class TooManyChoices(ValueError):
    """One macrostep has more than MAX_OUTCOMES outcomes."""


class ControlStep:
    """The macrosteps of one chart without its data.

    Attributes:
        chart: The skeleton that takes the steps.
        invocations: Ids, by bit.
        controls: By number.
        endings: The known ends of invocations, from the bounds.
        beyond: Context fields that have left their bounds, each with its value.
        on_run: Called after each run, with its microsteps, its outcome and whether the machine has finished.
        taken: Indices of all transitions taken so far. Outcomes that differ only in answers and transitions are
            merged into one; this has the transitions of all of them.

    Args:
        heard: The events that monitors receive; if there are any, outcomes have traces.
        data: Used in place of the context from bounds and functions.

    Raises:
        NotProvable: See `skeleton`.
    """

    def __init__(
        self,
        chart: Chart,
        bounds: Bounds = NO_BOUNDS,
        functions: Bindings | None = None,
        *,
        heard: Heard = NOTHING_HEARD,
        data: BoundedContext | None = None,
    ) -> None:
        self.endings = Endings(chart, bounds.outcomes, bounds.failures)
        self.data = data or BoundedContext(chart, bounds.context, functions, self.endings)
        self.heard = heard
        self.originals: list[Action] | None = [] if self.data.values else None
        self.chart = skeleton(chart, self.originals)
        _check_finalize(chart, bounds)
        self.bounds = bounds
        self.budgets = Budgets(bounds.budgets)
        self._script = Script(self._place, self.originals or ())
        self.bindings = scripted_bindings(self.chart, bounds, self._script, self.data)
        self._machine = Machine(self.chart, self.bindings, None, SimulatedClock(), MICROSTEPS, ignores_contracts=True)
        self._machine.first_look = min(self._machine.first_look, MICROSTEPS // 2)
        self.program = self._machine.program
        self.structure = self.program.structure
        invokes = [invoke for state in self.structure.states for invoke in state.invoke]
        self.invocations = tuple(invoke.id for invoke in invokes)
        self.bit = {id: 1 << place for place, id in enumerate(self.invocations)}
        self._of_state = [sum(self.bit[i.id] for i in state.invoke) for state in self.structure.states]
        self.controls: list[Control] = []
        self.on_run: Callable[[Steps, Outcome, bool], None] | None = None
        self.taken: set[int] = set()
        self.beyond: dict[str, None] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._outcomes: dict[tuple[int, str, str], tuple[Outcome, ...]] = {}

    def _place(self) -> Hashable:
        machine = self._machine
        work = machine.work
        assert work is not None
        configuration = machine.node and machine.node.configuration  # None while the initial values are chosen
        internal = tuple(event.name for event in machine.internal or ())
        raised = tuple(event.name for event in work.raised)
        history = tuple(sorted(machine.history.items()))
        entered = (*sorted(work.starting), *machine.fields.values())
        return (configuration, history, internal, raised, entered, machine.event.name, len(work.staged))

    def names(self, control: int) -> tuple[str, ...]:
        """Active states, by depth, then by name."""
        return self.controls[control].node.names

    def initial(self) -> tuple[Outcome, ...]:
        """The outcomes of starting the machine."""
        return self._all(lambda: self._run(None, None))

    def outcomes(self, control: int, event: str, ending: str = "") -> tuple[Outcome, ...]:
        """The outcomes of processing an event, which may also not be taken.

        Args:
            ending: Name of the ending, where the event is the end of an invocation with endings in the bounds.

        Raises:
            TooManyChoices: There are more than MAX_OUTCOMES.
        """
        found = self._outcomes.get((control, event, ending))
        if found is None:
            found = self._all(lambda: self._run(control, event, ending))
            self._outcomes[control, event, ending] = found
        return found

    def worked_out(self) -> Iterator[tuple[int, str, str, tuple[Outcome, ...]]]:
        """All results of `outcomes` so far: control, event, name of the ending, and outcomes."""
        for (control, event, ending), found in self._outcomes.items():
            yield control, event, ending, found

    def every_initial(self) -> tuple[Outcome, ...]:
        """As `initial`, without merging outcomes that differ only in answers and transitions."""
        return self._all(lambda: self._run(None, None), is_merged=False)

    def every_outcome(self, control: int, event: str, ending: str = "") -> tuple[Outcome, ...]:
        """As `outcomes`, without merging outcomes that differ only in answers and transitions; computed at each call.

        Raises:
            TooManyChoices: There are more than MAX_OUTCOMES.
        """
        return self._all(lambda: self._run(control, event, ending), is_merged=False)

    def listens(self, control: int, event: str) -> bool:
        """Whether the event can change anything in this control."""
        node = self.controls[control].node
        return bool(self.program.rows(node, self.structure.event_key(event)).rows or self.program.rows(node, None).rows)

    # ------------------------------------------------------------ one run

    def _all(self, run: Callable[[], Outcome], is_merged: bool = True) -> tuple[Outcome, ...]:
        script = self._script
        script.given = []
        every: list[Outcome] = []
        parts: list[list[Part]] = []
        count = 0
        while True:
            count += 1
            if count > MAX_OUTCOMES:
                raise TooManyChoices(f"one step has more than {MAX_OUTCOMES} ways, as its guards answer")
            script.restart()
            one = run()
            self.taken.update(one.transitions)
            every.append(one)
            if self.on_run is not None:
                self.on_run(script.steps, one, self._machine.is_done)
            if self.heard.events:
                parts.append(parts_of(one, script.steps, script.places, self.structure, self.heard))
            if not script.advance():
                break
        if self.heard.events:
            every = traced(every, parts, self.heard)
        if not is_merged:
            return tuple(every)
        found: dict[Hashable, Outcome] = {}
        for one in every:
            found.setdefault((bare(one), bool(one.answers), bool(one.transitions)), one)
        return tuple(found.values())

    def _run(self, number: int | None, name: str | None, ending: str = "") -> Outcome:
        machine = self._machine
        self._load(machine, None if number is None else self.controls[number])
        work = machine.begin()
        steps = self._script.steps = Steps(self._script.answers, machine.fields)
        taken: Receipt | None = None
        try:
            if name is None:
                machine.fields |= settled(self.data.first, self.data, self._script, machine.event)
                microstep(machine, work, self.program.initial_plan(), None, steps)
            else:
                event = make_event(name, _payload(name, ending))
                machine.event = event
                machine.idle_choice = None
                taken = process(machine, work, event, steps)
            if name is not None and name.startswith("error.invoke.") and taken is not Receipt.TAKEN:
                return self._problem(number, UNHANDLED)
            stabilise(machine, work, steps)
        except EventlessCycleError as error:
            undo(machine, work)
            if error.limit is None:
                steps.repeating = len(error.loop)
            return self._problem(number, CYCLE if error.limit is None else LONG)
        except OutOfBounds as error:
            undo(machine, work)
            self.beyond[error.text] = None
            return self._problem(number, BEYOND)
        except Repeated as repeated:
            undo(machine, work)
            return Outcome(
                -1 if number is None else number,
                answers=tuple(self._script.answers[: repeated.answers.stop]),
                transitions=_transitions(steps),
                computed=tuple(self._script.computed),
                problem=ROUND,
                spending=self.budgets.spending(
                    self._script.answers[repeated.answers], self._script.actions[repeated.actions]
                ),
            )
        finally:
            machine.work = None
        return self._outcome(machine, work, steps)

    def _problem(self, number: int | None, problem: str) -> Outcome:
        answers, computed = tuple(self._script.answers), tuple(self._script.computed)
        return Outcome(-1 if number is None else number, answers=answers, computed=computed, problem=problem)

    def _load(self, machine: Machine, control: Control | None) -> None:
        machine.node = None if control is None else control.node
        machine.history = {} if control is None else dict(control.history)
        machine.idle_choice = None if control is None else control.idle_choice
        machine.fields.clear()
        if control is not None:
            machine.fields.update(zip(self.data.values, control.data, strict=True))
        machine.internal = None
        machine.is_done = False
        machine.output = None
        machine.seq = 0
        machine.event = make_event(INIT, {})
        machine.invocations = {}
        machine.agenda.clear()

    def _outcome(self, machine: Machine, work: Transaction, steps: list[Any]) -> Outcome:
        stopped = started = 0
        is_still = True
        for step in steps:
            plan = step.plan
            if plan is None:
                continue
            drawn = plan.outline
            for state in drawn.exits:
                is_still = False
                stopped |= self._of_state[state]
                started &= ~self._of_state[state]
            for entry in drawn.entries:
                is_still = False
                started |= self._of_state[entry.state]
        if machine.is_done:
            stopped, started = -1, 0
        changes, sent = ([], []) if machine.is_done else staged(work)
        answers = self._script.answers
        return Outcome(
            self._number(machine),
            stopped,
            started,
            tuple(changes),
            tuple(sent),
            tuple(answers),
            _transitions(steps),
            is_still,
            computed=tuple(self._script.computed),
            spending=self.budgets.spending(answers, self._script.actions),
        )

    def _number(self, machine: Machine) -> int:
        assert machine.node is not None
        history = tuple(sorted(machine.history.items())) if machine.history else ()
        data = tuple(machine.fields[name] for name in self.data.values)
        return self.number_of(machine.node.configuration, history, machine.idle_choice, machine.is_done, data)

    def number_of(
        self,
        configuration: frozenset[int],
        history: tuple[tuple[int, tuple[int, ...]], ...],
        idle_choice: tuple[int, ...] | None,
        is_done: bool,
        data: tuple[Any, ...],
    ) -> int:
        """The number of a control; a new one where it was not seen before."""
        key = (configuration, history, idle_choice, is_done, data)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.controls)
            self.controls.append(Control(self.program.node(configuration), history, idle_choice, is_done, data))
        return found


def _check_finalize(chart: Chart, bounds: Bounds) -> None:
    """Raises NotProvable where an action under `finalize`, which is not explored, raises or sends events."""
    for invoke in (invoke for state in chart.states.values() for invoke in state.invoke):
        for action in flat(invoke.finalize):
            if isinstance(action, CallAction) and {action.name} & {*bounds.raises, *bounds.sends}:
                raise NotProvable(
                    f"{invoke.position}: finalize of {invoke.id!r} calls {action.name!r}, which raises or sends events "
                    "as the bounds say; that is not checked"
                )


def _payload(name: str, ending: str) -> dict[str, str]:
    """The event's payload: the name of the ending in place of its value, which only functions read."""
    if not ending:
        return {}
    kind: EndKind = "done" if name.startswith("done.") else "error"
    return {FIELDS[kind]: ending}


def _transitions(steps: list[Any]) -> tuple[int, ...]:
    return tuple(t for step in steps if step.plan is not None for t in step.plan.outline.transitions)
