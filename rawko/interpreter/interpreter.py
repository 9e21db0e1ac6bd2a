"""The machine: one statechart, its configuration and its context, stepped by events.

`Interpreter` is sans-IO: it opens nothing, waits for nothing, reads only the clock that it is given. A macrostep
returns what changed and what the runtime must do. The rules are SCXML's, with XState's transition domain and
sismic's eventless-before-external order (docs/semantics.md). Choosing is `program`, planning is `plans`; here a
chosen plan is carried out, atomically.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from sismic.clock import Clock, SimulatedClock
from sismic.interpreter import Interpreter as SismicInterpreter
from sismic.model import Event as SismicEvent
from sismic.model import InternalEvent as SismicInternalEvent
from sismic.model import MetaEvent, Statechart
from sismic.model import MicroStep as SismicMicroStep

from rawko.chart.definition import Chart
from rawko.interpreter.agenda import Agenda, Timer
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.code import CompiledAction
from rawko.interpreter.context_model import FREE, ContextModel, FreeContext, context_model
from rawko.interpreter.effects import EmitEvent, LogLine, SendTo, StartInvocation, StopInvocation
from rawko.interpreter.errors import (
    ActionError,
    BindingError,
    ContextError,
    ContractFailed,
    EventlessCycleError,
    InterpreterError,
    InvariantFailed,
    InvocationError,
    NotRunningError,
    PostconditionFailed,
    PreconditionFailed,
    UntrustedCodeError,
)
from rawko.interpreter.events import INIT, Event, InternalEvent, InvocationEvent, make_event
from rawko.interpreter.explain import Refusal, can, why_not
from rawko.interpreter.observed import Observation
from rawko.interpreter.program import (
    ACTION,
    DONE,
    INVOKE,
    LEAVE,
    TIMERS,
    CodeGuardCall,
    Node,
    Operation,
    Plan,
    Program,
    Rows,
    Where,
    program_of,
)
from rawko.interpreter.snapshots import release, restore_into, take_snapshot
from rawko.interpreter.steps import MicroStep, Receipt, Step
from rawko.interpreter.structure import Structure
from rawko.interpreter.updates import (
    Append,
    Assign,
    Cancel,
    Emit,
    Log,
    Raise,
    Send,
    Spawn,
    Stop,
    Update,
)
from rawko.interpreter.values import Record, Vector, freeze
from rawko.interpreter.work import MISSING, Failed, Invocation, ListenerFailed, Work

MAX_MICROSTEPS = 10_000
_NO_BINDINGS = Bindings()
_NO_INVOCATIONS: Mapping[str, Invocation] = {}
_NO_OLDS: Mapping[Any, Any] = {}
_NOT_KEPT = frozenset({"_chart", "_bindings", "_program", "clock", "_model", "_context", "_observation", "_evaluator"})
"""What a checkpoint leaves out: it does not change, or keeps itself."""
_NO_HISTORY: dict[int, tuple[int, ...]] = {}
_CONTRACT_ERRORS: dict[str, type[ContractFailed]] = {
    "before": PreconditionFailed,
    "after": PostconditionFailed,
    "always": InvariantFailed,
}


class Interpreter(SismicInterpreter):
    """A running statechart.

    Args:
        chart: From `rawko.load_chart`. A sismic Statechart is taken by `from_sismic`.
        bindings: The functions that the chart names.
        input: First values of context fields; checked by the context model where the chart names one.
        clock: A sismic clock; a simulated one at 0 by default.
        ignore_contract: Skip all contract conditions.

    Raises:
        BindingError: Names of the chart that are not bound, with their positions.
        ContextError: Input that the context model refuses.
        UntrustedCodeError: The chart holds Python code.

    Not thread-safe: one interpreter belongs to one thread at a time; charts, bindings and plans are shared freely.
    """

    def __init__(
        self,
        chart: Chart,
        bindings: Bindings | None = None,
        *,
        input: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        ignore_contract: bool = False,
        observation: Observation | None = None,
    ) -> None:
        if not isinstance(chart, Chart):
            raise TypeError(
                f"Interpreter takes a Chart, found {type(chart).__name__}; "
                "for a sismic Statechart use Interpreter.from_sismic(statechart, trusted=True)"
            )
        if chart.has_code and (observation is None or not observation.has_evaluator):
            raise UntrustedCodeError(
                f"chart {chart.name!r} holds Python code; allow it with trusted=True "
                "(Interpreter.from_sismic, rawko.load_chart(..., trusted=True) and Interpreter.trusting)"
            )
        self._chart = chart
        self._bindings = bindings = _NO_BINDINGS if bindings is None else bindings
        self._program: Program = program_of(chart, bindings)
        self.clock = SimulatedClock() if clock is None else clock
        self._time: float = self.clock.time
        self._model: ContextModel | FreeContext = _model_of(chart, bindings)
        self._input = dict(input or {})
        self._fields: dict[str, Any] = self._model.initial(self._input)
        self._context = Record(self._fields)
        self._node: Node | None = None
        self._history = _NO_HISTORY
        self._invocations = _NO_INVOCATIONS
        self._olds = _NO_OLDS
        self._agenda = Agenda()
        self._internal: deque[InternalEvent] | None = None
        self._event: Event = _INIT_EVENT
        self._work: Work | None = None
        self._seq = 0
        self._number = 0
        self._output: Any = None
        self._is_done = False
        self._is_busy = False
        self._idle_choice: tuple[int, ...] | None = None
        self._ignore_contract = ignore_contract
        self._observation = observation
        if self._program.has_contracts and not ignore_contract and observation is None:
            self._observation = Observation(self)
        elif observation is not None:
            observation.attach_to(self)

    # ------------------------------------------------------------ other ways to make one

    @classmethod
    def from_sismic(
        cls,
        statechart: Statechart,
        *,
        trusted: bool = False,
        evaluator_klass: Callable[..., Any] | None = None,
        initial_context: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        ignore_contract: bool = False,
    ) -> Interpreter:
        """An interpreter of a plain sismic statechart; its Python code runs only with `trusted=True`.

        The statechart is copied: changing it later changes nothing here. Fits wherever sismic takes an
        `interpreter_klass`: `functools.partial(Interpreter.from_sismic, trusted=True)`.

        Raises:
            UntrustedCodeError: The statechart holds code, and `trusted` is False.
        """
        from rawko.chart import from_statechart

        return cls.trusting(
            from_statechart(statechart),
            trusted=trusted,
            evaluator_klass=evaluator_klass,
            initial_context=initial_context,
            clock=clock,
            ignore_contract=ignore_contract,
        )

    @classmethod
    def trusting(
        cls,
        chart: Chart,
        *,
        trusted: bool = True,
        evaluator_klass: Callable[..., Any] | None = None,
        initial_context: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        ignore_contract: bool = False,
    ) -> Interpreter:
        """An interpreter of a chart that may hold Python code, evaluated as sismic does.

        Raises:
            UntrustedCodeError: The chart holds code, and `trusted` is False.
        """
        from rawko.interpreter.trusted import TrustedObservation

        observation = None
        if trusted or evaluator_klass is not None:
            observation = TrustedObservation(chart, evaluator_klass, initial_context)
        return cls(
            chart,
            input=None if observation else initial_context,
            clock=clock,
            ignore_contract=ignore_contract,
            observation=observation,
        )

    # ------------------------------------------------------------ what can be read

    @property
    def chart(self) -> Chart:
        return self._chart

    @property
    def configuration(self) -> list[str]:
        """Names of the active states, by depth, then by name."""
        if self._observation is not None and self._observation.live is not None:
            return self._observation.live_configuration()
        return list(self._node.names) if self._node is not None else []

    @property
    def _configuration(self) -> set[str]:
        """What sismic's own helpers read."""
        return set(self.configuration)

    @_configuration.setter
    def _configuration(self, names: set[str]) -> None:
        structure = self._program.structure
        configuration = frozenset(structure.index[name] for name in names)
        self._node = self._program.node(configuration) if configuration else None

    @property
    def context(self) -> Mapping[str, Any]:
        """The context: a live, read-only view."""
        return self._context if self._observation is None else self._observation.context(self._context)

    @property
    def output(self) -> Any:
        """What the machine gave when it finished; None before."""
        return self._output

    @property
    def final(self) -> bool:
        """Whether the machine has finished. Its last configuration is kept."""
        return self._is_done

    @property
    def is_started(self) -> bool:
        return self._node is not None

    @property
    def time(self) -> float:
        """Seconds on the clock at the latest macrostep."""
        return self._time

    @property
    def statechart(self) -> Statechart:
        """The chart as sismic's model, for sismic's tools; made when first asked for."""
        if self._observation is not None and self._observation.statechart is not None:
            return self._observation.statechart
        from rawko.chart import lower

        return lower(self._chart).statechart

    @property
    def tags(self) -> frozenset[str]:
        """Tags of all active states."""
        return frozenset(tag for name in self.configuration for tag in self._chart[name].tags)

    @property
    def invocations(self) -> Mapping[str, Invocation]:
        """Running invocations by id."""
        return self._invocations

    def matches(self, state: str) -> bool:
        """Whether a state is active."""
        return self._node is not None and state in self._node.names_set

    # ------------------------------------------------------------ stepping

    def start(self) -> Step:
        """Enter the first configuration.

        Raises:
            NotRunningError: It has started already.
            ActionError: An entry action failed; the machine is as if never started.
        """
        if self._node is not None:
            raise NotRunningError("the machine has started already")
        step = self.execute_once()
        assert step is not None
        return step

    def send(self, name: str, /, **data: Any) -> Step:
        """Send an event and run until nothing is due; starts the machine if need be.

        Returns:
            The step that consumed the event, with its receipt, updates and effects. Steps for events that the
            machine sent to itself are in `following`; steps for what was due before are run first, as `execute`
            would (read `queue` and `execute_once` for full control).

        Raises:
            ActionError: A guard, action or contract failed and the machine does not handle `error.execution`.
        """
        event = make_event(name, data)
        before: list[Step] = []
        if self._node is None:
            before.append(self.start())
        if self._is_done:
            return Step(self._now(), [], Receipt.DONE, configuration=self._names())
        self._push(event)
        found: Step | None = None
        following: list[Step] = []
        while (step := self.execute_once()) is not None:
            if found is not None:
                following.append(step)
            elif step.event is event or self._event is event or (step._steps and step._steps[0].event is event):
                found = step
            else:
                before.append(step)
        if found is None:  # the machine finished before the event's turn came
            found = Step(self._time, [], Receipt.DONE, configuration=self._names())
        if before:
            found = _with_earlier(found, before)
        found.following = tuple(following)
        return found

    def queue(self, event_or_name: str | SismicEvent, *event_or_names: str | SismicEvent, **parameters: Any) -> Any:
        """Queue events without processing them; sismic's own signature.

        A parameter `delay` (seconds) holds the event back, as in sismic.
        """
        for item in (event_or_name, *event_or_names):
            event: SismicEvent = make_event(item, parameters) if isinstance(item, str) else item
            self._queue_event(event)
        return self

    def _queue_event(self, event: SismicEvent) -> None:
        delay = event.data.get("delay", 0)
        if isinstance(event, SismicInternalEvent):
            self._raise_internal(event)
        elif isinstance(delay, (int, float)) and delay > 0:
            self._seq += 1
            due = self._now() + delay
            self._agenda.set(Timer(due, self._seq, f"send.{self._seq}", event.name, event.data, delay=delay))
        else:
            self._push(event if isinstance(event, Event) else make_event(event.name, event.data))

    def _raise_internal(self, event: SismicEvent) -> None:
        if self._internal is None:
            self._internal = deque()
        internal = make_event(event.name, event.data, InternalEvent)
        assert isinstance(internal, InternalEvent)
        self._internal.append(internal)

    def _push(self, event: Event) -> None:
        self._seq += 1
        self._agenda.push(self._now(), self._seq, event)

    def execute(self, max_steps: int = -1) -> Any:
        """Run macrosteps until nothing is due, at most `max_steps` of them if positive; a list of steps."""
        steps: list[Step] = []
        while (step := self.execute_once()) is not None:
            steps.append(step)
            if 0 < max_steps == len(steps):
                break
        return steps

    def advance(self, seconds: float) -> tuple[Step, ...]:
        """Move a simulated clock, stopping at everything that becomes due on the way.

        Raises:
            TypeError: The clock is not a simulated one.
        """
        clock = self.clock
        if not isinstance(clock, SimulatedClock):
            raise TypeError(f"advance needs a SimulatedClock, found {type(clock).__name__}")
        end = clock.time + seconds
        steps: list[Step] = list(self.execute())
        while (due := self.next_due()) is not None and due <= end:
            clock.time = max(due, clock.time)
            found = self.execute()
            steps.extend(found)
            if not found:
                break
        clock.time = max(end, clock.time)
        steps.extend(self.execute())
        return tuple(steps)

    def next_due(self) -> float | None:
        """When something will happen by itself, in seconds of the clock; None: never without an event."""
        if self._is_done:
            return None
        due = self._agenda.next_due()
        if self._observation is not None:
            timed = self._observation.next_timed_guard()
            if timed is not None and (due is None or timed < due):
                return timed
        return due

    def _now(self) -> float:
        clock = self.clock
        if clock.__class__ is SimulatedClock and not clock._play:
            return clock._time
        return clock.time

    def _names(self) -> tuple[str, ...]:
        return self._node.names if self._node is not None else ()

    # ------------------------------------------------------------ one macrostep

    def execute_once(self) -> Step | None:
        """Run one macrostep; None if nothing is due.

        Raises:
            ActionError, InvocationError, EventlessCycleError: See `rawko.interpreter.errors`; rolled back.
        """
        if self._is_busy:
            raise InterpreterError("a step is being processed: queue events from here, do not execute them")
        self._time = now = self._now()
        observation = self._observation
        if observation is not None:
            return self._execute_observed(now, observation)
        if self._node is None:
            return self._macrostep(now, _init_event(self._input), self._program.initial_plan())
        if self._is_done:
            self._agenda.clear()
            return None
        while (taken := self._agenda.next(now)) is not None:
            if taken.__class__ is Timer:
                step = self._fire(now, taken)
            else:
                step = self._consume(now, taken)
            if step is not None:
                return step
        return None

    def _execute_observed(self, now: float, observation: Observation) -> Step | None:
        observation.step_started(now)
        step: Step | None = None
        is_ok = False
        try:
            step = self._execute_next(now, observation)
            if step is None and self._node is not None and not self._is_done:
                self._check_idle(observation)
            is_ok = True
        finally:
            observation.step_ended(is_ok)
        return step

    def _check_idle(self, observation: Observation) -> None:
        """Invariants also hold where nothing happens: time may have passed (sismic's rule)."""
        self._is_busy = True
        try:
            observation.check_invariants()
        except Failed as failure:
            raise self._error(failure, None) from failure.__cause__
        finally:
            self._is_busy = False

    def _execute_next(self, now: float, observation: Observation) -> Step | None:
        if self._node is None:
            return self._macrostep(now, _init_event(self._input), self._program.initial_plan())
        if self._is_done:
            self._agenda.clear()
            return None
        if observation.has_evaluator and (self._internal or self._program.rows(self._node, None).rows):
            step = self._macrostep(now, None, None)
            if step is not None:
                return step
        while (taken := self._agenda.next(now)) is not None:
            step = self._fire(now, taken) if isinstance(taken, Timer) else self._consume(now, taken)
            if step is not None:
                return step
        return None

    def _fire(self, now: float, timer: Timer) -> Step | None:
        """A delayed event is due: ours is processed, another's becomes an effect."""
        if timer.target is not None:
            effect = SendTo(timer.target, timer.event, timer.data)
            micro = _micro(None, (), (), ())
            return Step(now, [micro], effects=(effect,), configuration=self._names())
        if timer.number:
            return self._time_out(now, timer)
        return self._consume(now, make_event(timer.event, timer.data))

    def _time_out(self, now: float, timer: Timer) -> Step | None:
        invocation = next((i for i in self._invocations.values() if i.number == timer.number), None)
        if invocation is None:
            return None
        error = {
            "category": "timeout",
            "code": "timeout",
            "message": f"actor {invocation.id!r} did not finish within {timer.delay:g} s",
        }
        event = _invocation_event(f"error.invoke.{invocation.id}", {"error": Record(error)}, invocation, is_end=True)
        return self._consume(now, event, stop=invocation)

    def _consume(self, now: float, event: Event, stop: Invocation | None = None) -> Step | None:
        ended: Invocation | None = None
        if event.__class__ is InvocationEvent:
            ended = self._invocations.get(event.id)
            if ended is None or ended.number != event.number:
                return None  # of an invocation that has ended
            if not event.is_end:
                ended = None
        return self._macrostep(now, event, None, ended, stop)

    def _macrostep(
        self,
        now: float,
        event: Event | None,
        plan: Plan | None,
        ended: Invocation | None = None,
        stop: Invocation | None = None,
    ) -> Step | None:
        """Process an event (None: eventless transitions first) to stability, whole or not at all."""
        node, history, invocations = self._node, self._history, self._invocations
        before, seq, number, olds = self._event, self._seq, self._number, self._olds
        observation = self._observation
        times = None if observation is None else observation.mark()
        steps: list[SismicMicroStep] = []
        self._is_busy = True
        self._work = None
        try:
            if event is not None:
                event.at_ms = int(now * 1000)
                self._event = event
                self._idle_choice = None
            if ended is not None:
                self._end_invocation(ended, stop)
            receipt = self._first(event, plan, steps)
            if ended is not None and receipt is not None and not receipt.is_taken:
                self._unhandled(ended, event)
            self._stabilise(steps)
            return self._commit(now, steps, receipt)
        except BaseException as error:
            self._undo(node, history, invocations, number, olds, seq, times)
            if not isinstance(error, Failed):
                self._event = before if not isinstance(error, Exception) else self._event
                if isinstance(error, ListenerFailed):
                    raise error.cause from error.cause.__cause__
                raise
            failure = error
        finally:
            self._is_busy = False
        return self._recover(now, event, failure, (node, history, invocations, number, olds, seq, times), ended, stop)

    def _first(self, event: Event | None, plan: Plan | None, steps: list[SismicMicroStep]) -> Receipt | None:
        if plan is not None:
            self._microstep(plan, None, steps)
            return None
        if event is None:
            return None
        program = self._program
        node = self._node
        assert node is not None
        structure = program.structure
        name = event.name
        key = name if name in structure.written else structure.event_key(name)
        rows = node.rows.get(key) or program.rows(node, key)
        chosen = rows.fixed
        if chosen is None:
            chosen = self._select(rows, event)
        if self._observation is not None:
            self._observation.event_consumed(event)
        if chosen:
            found = node.plans.get(chosen)
            if found.__class__ is not Plan:
                found = program.plan(node, chosen, self._history)
            self._microstep(found, event, steps)
            return Receipt.TAKEN
        steps.append(_micro(event, (), (), ()))
        if rows.receipt is Receipt.UNKNOWN and name in self._chart.events:
            return Receipt.NOT_HANDLED
        return rows.receipt

    def _select(self, rows: Rows, event: Event | None) -> tuple[int, ...]:
        """Ask the candidates: inner states first, in a state the first that is true, then nobody above it."""
        context = self._context
        current = self._event
        chosen: list[int] = []
        passed: frozenset[int] = frozenset()
        for state, ancestors, candidates in rows.rows:
            if state in passed:
                continue
            for guard, transition in candidates:
                if guard is not None:
                    try:
                        if guard.__class__ is CodeGuardCall:
                            is_true = self._observation.guard(transition, event)
                        else:
                            is_true = guard(context, current)
                    except Exception as error:
                        raise self._guard_failed(transition, error) from error
                    if not is_true:
                        continue
                chosen.append(transition)
                passed = passed | ancestors if passed else ancestors
                break
        return tuple(chosen)

    def _guard_failed(self, index: int, error: Exception) -> Failed:
        from rawko.interpreter.contracts import condition_text

        transition = self._program.structure.transitions[index]
        assert transition.guard is not None
        position = getattr(transition.guard, "position", transition.position)
        where = f"transition {transition.source} -> {', '.join(transition.targets) or '(no target)'}"
        return Failed("guard", where, condition_text(transition.guard), position, error)

    def _stabilise(self, steps: list[SismicMicroStep]) -> None:
        """Eventless transitions, else the first internal event, until there is neither."""
        program = self._program
        count = 0
        while not self._is_done:
            node = self._node
            assert node is not None
            rows = node.rows.get(None) or program.rows(node, None)
            chosen = rows.fixed
            if chosen is None:
                chosen = self._select(rows, None)
            event: Event | None = None
            if not chosen or chosen == self._idle_choice:
                if not self._internal:
                    return
                event = self._internal.popleft()
                self._idle_choice = None
                event.at_ms = int(self._time * 1000)
                self._event = event
                self._first(event, None, steps)
            else:
                plan = node.plans.get(chosen)
                if plan.__class__ is not Plan:
                    plan = program.plan(node, chosen, self._history)
                marks = self._marks()
                self._microstep(plan, None, steps)
                is_idle = self._node is node and not plan.has_code and not plan.entered and self._marks() == marks
                self._idle_choice = chosen if is_idle else None
            count += 1
            if count > MAX_MICROSTEPS:
                raise EventlessCycleError(_cycle(steps, program.structure, self._names()), MAX_MICROSTEPS)

    def _marks(self) -> tuple[int, int, int, int]:
        work = self._work
        if work is None:
            return (0, 0, 0, len(self._internal or ()))
        return (len(work.updates), len(work.effects), len(work.staged), len(self._internal or ()))

    # ------------------------------------------------------------ one microstep

    def _microstep(self, plan: Plan, event: Event | None, steps: list[SismicMicroStep]) -> None:
        if plan.writes:
            self._history = {**self._history, **dict(plan.writes)}
        work = self._work
        if self._observation is not None:
            work = self._begin_work()
            self._observation.microstep(plan, event)
        elif plan.operations:
            work = self._begin_work()
            self._run(plan.operations)
        self._node = plan.target
        sent: list[Any] = []
        if work is not None:
            if work.raised:
                if self._internal is None:
                    self._internal = deque()
                self._internal.extend(work.raised)
                work.raised = []
            if work.sent:
                sent, work.sent = work.sent, []
        micro = MicroStep.__new__(MicroStep)
        micro.event = event
        micro.transition = plan.transition
        micro.entered_states = list(plan.entered)
        micro.exited_states = list(plan.exited)
        micro.sent_events = sent
        sismic = self._program.sismic_transition
        micro.transitions = [sismic(t) for t in plan.outline.transitions] if plan.transition is not None else []
        steps.append(micro)
        if self._observation is not None:
            self._observation.microstep_ended(sent)
        if plan.finished_by >= 0:
            self._finish(plan, steps)

    def _begin_work(self) -> Work:
        work = self._work
        if work is None:
            work = self._work = Work(self._node, self._history, self._invocations, self._number, self._seq, self._olds)
        return work

    def _run(self, operations: tuple[Operation, ...]) -> None:
        """Carry out what an exit, a transition or an entry has to do."""
        context, event = self._context, self._event
        for kind, what, where in operations:
            if kind == ACTION:
                try:
                    update = what.update
                    if update is None:
                        if what.function is None:
                            self._observation.execute(what, where, event)
                            continue
                        update = what.function(context, event)
                        if update is None:
                            continue
                    self._apply(update)
                except (Failed, ListenerFailed):
                    raise
                except Exception as error:
                    raise _action_failed(what, where, error) from error
            elif kind == LEAVE:
                self._leave(what)
            elif kind == TIMERS:
                self._set_timers(what, where)
            elif kind == INVOKE:
                self._begin_work().starting[what] = event
            elif kind == DONE:
                self._raise_done(what, where)

    def _leave(self, state: int) -> None:
        """Timers cancelled, invocations stopped."""
        work = self._begin_work()
        definition = self._program.structure.states[state]
        for after in definition.after:
            work.stage_cancel(after.event)
        if work.starting.pop(state, None) is not None:
            return
        for invoke in definition.invoke:
            invocation = self._invocations.get(invoke.id)
            if invocation is not None:
                self._stop_invocation(invocation)

    def _set_timers(self, timers: Any, state: int) -> None:
        work = self._begin_work()
        for after, delay in timers:
            try:
                delay_s = delay(self._context, self._event) / 1000
            except Exception as error:
                where = f"state {after.state!r} (after)"
                raise Failed("delay", where, getattr(after.delay, "name", "after"), after.position, error) from error
            self._seq += 1
            work.stage_timer(
                Timer(
                    self._time + delay_s,
                    self._seq,
                    after.event,
                    after.event,
                    {},
                    state=after.state,
                    delay=delay_s,
                    policy=after.on_restore,
                )
            )

    def _raise_done(self, name: str, final: int) -> None:
        output = self._final_output(final) if final >= 0 else None
        event = make_event(name, {"output": output}, InternalEvent)
        assert isinstance(event, InternalEvent)
        self._begin_work().raised.append(event)

    def _final_output(self, state: int) -> Any:
        compute = self._program.outputs[state]
        if compute is None:
            return None
        definition = self._program.structure.states[state]
        try:
            return freeze(compute(self._context, self._event), "output")
        except Exception as error:
            where = f"state {definition.name!r} (output)"
            raise Failed("output", where, str(definition.output), definition.position, error) from error

    # ------------------------------------------------------------ updates

    def _apply(self, update: Any) -> None:
        """Apply what an action returned, in order."""
        kind = type(update)
        if kind is Assign:
            self._assign(update)
        elif kind is tuple or kind is list:
            for part in update:
                if part is not None:
                    self._apply(part)
        elif isinstance(update, Update):
            self._apply_other(update)
        else:
            raise TypeError(
                f"returned {update!r:.80} ({kind.__name__}); accepted: None, an update such as assign(...) "
                "or send(...), or a tuple or list of updates"
            )

    def _assign(self, update: Assign) -> None:
        work, fields, check = self._begin_work(), self._fields, self._model.field
        changed: dict[str, Any] = {}
        for name, value in update.fields.items():
            value = check(name, value)
            changed[name] = value
            work.undo.append((name, fields.get(name, MISSING)))
            fields[name] = value
        work.updates.append(Assign(changed))

    def _apply_other(self, update: Update) -> None:
        work = self._begin_work()
        match update:
            case Append(name, item):
                old = self._fields.get(name)
                if not isinstance(old, Vector):
                    raise ContextError(
                        f"context field {name!r} is not a list: cannot append to {old!r:.60}", field=name
                    )
                item = self._model.item(name, item)
                work.undo.append((name, old))
                self._fields[name] = old.appended(item)
                work.updates.append(Append(name, item))
            case Raise(event, data):
                raised = make_event(event, data, InternalEvent)
                assert isinstance(raised, InternalEvent)
                work.raised.append(raised)
                work.sent.append(raised)
            case Send():
                self._send(update, work)
            case Cancel(id):
                work.stage_cancel(f"send:{id}")
            case Emit(event, data):
                work.effects.append(EmitEvent(event, freeze(data, event)))
            case Log(message, level, data):
                work.effects.append(LogLine(message, level, freeze(data, "log")))
            case Spawn(id, src, input):
                if id in self._invocations:
                    raise InterpreterError(f"an actor with id {id!r} is running already")
                self._start(id, src, freeze(input, "input"), None, "restart", None)
            case Stop(id):
                running = self._invocations.get(id)
                if running is not None and running.state is None:
                    self._stop_invocation(running)
            case Assign():
                self._assign(update)
            case _:
                assert_never(update)

    def _send(self, update: Send, work: Work) -> None:
        if update.delay_ms < 0:
            raise ValueError(f"delay {update.delay_ms!r} is negative; accepted: milliseconds >= 0")
        data = freeze(update.data, update.event)
        self._seq += 1
        if update.delay_ms or (update.id is not None and update.to is None):
            delay = update.delay_ms / 1000
            id = f"send:{update.id}" if update.id is not None else f"send.{self._seq}"
            work.stage_timer(
                Timer(self._time + delay, self._seq, id, update.event, data, target=update.to, delay=delay)
            )
        elif update.to is None:
            event = make_event(update.event, data)
            work.stage_event(self._time, self._seq, event)
            work.sent.append(event)
        else:
            work.effects.append(SendTo(update.to, update.event, data))
            work.sent.append(make_event(update.event, data))

    # ------------------------------------------------------------ invocations

    def complete_invocation(self, id: str, number: int, output: Any = None) -> bool:
        """An actor has finished: queue `done.invoke.<id>`. False if that invocation is over: then it is dropped."""
        return self._from_actor(id, number, f"done.invoke.{id}", {"output": output}, is_end=True)

    def fail_invocation(self, id: str, number: int, error: Any) -> bool:
        """An actor has failed: queue `error.invoke.<id>` with `error`. False if that invocation is over."""
        return self._from_actor(id, number, f"error.invoke.{id}", {"error": error}, is_end=True)

    def deliver(self, id: str, number: int, event: str, data: Mapping[str, Any]) -> bool:
        """Queue an event from an actor (C-25). False if that invocation is over."""
        return self._from_actor(id, number, event, data, is_end=False)

    def _from_actor(self, id: str, number: int, name: str, data: Mapping[str, Any], *, is_end: bool) -> bool:
        invocation = self._invocations.get(id)
        if invocation is None or invocation.number != number or self._is_done:
            return False
        self._push(_invocation_event(name, freeze(data, name), invocation, is_end=is_end))
        return True

    def _end_invocation(self, invocation: Invocation, stop: Invocation | None) -> None:
        work = self._begin_work()
        if stop is not None:
            work.effects.append(StopInvocation(stop.id, stop.number))
        else:
            work.stage_cancel(f"timeout.{invocation.number}")
        self._invocations = {k: v for k, v in self._invocations.items() if k != invocation.id}

    def _unhandled(self, invocation: Invocation, event: Event | None) -> None:
        if event is not None and event.name == f"error.invoke.{invocation.id}":
            raise InvocationError(invocation.id, event.data.get("error"))

    def _stop_invocation(self, invocation: Invocation) -> None:
        self._invocations = {k: v for k, v in self._invocations.items() if k != invocation.id}
        work = self._begin_work()
        work.effects.append(StopInvocation(invocation.id, invocation.number))
        work.stage_cancel(f"timeout.{invocation.number}")

    def _delay_raised(self, event: SismicEvent, delay: float) -> None:
        """sismic's `send(..., delay=...)` in trusted code."""
        work = self._begin_work()
        self._seq += 1
        id = f"send.{self._seq}"
        work.stage_timer(Timer(self._time + delay, self._seq, id, event.name, event.data, delay=delay))

    def _start(self, id: str, src: str, input: Any, state: str | None, policy: str, timeout_s: float | None) -> None:
        work = self._begin_work()
        self._number += 1
        invocation = Invocation(id, state, src, input, self._number, started=self._time, policy=policy)
        self._invocations = {**self._invocations, id: invocation}
        work.effects.append(StartInvocation(id, src, input, self._number, state=state, policy=policy))
        if timeout_s is not None:
            self._seq += 1
            work.stage_timer(
                Timer(
                    self._time + timeout_s,
                    self._seq,
                    f"timeout.{self._number}",
                    f"error.invoke.{id}",
                    {},
                    state=state,
                    delay=timeout_s,
                    number=self._number,
                )
            )

    def _start_invocations(self, work: Work) -> None:
        """For states entered and still active, in document order, with the event of their entry."""
        program = self._program
        for state in sorted(work.starting):
            event = work.starting[state]
            for invoke in program.structure.states[state].invoke:
                where = f"state {invoke.state!r} (invoke {invoke.id})"
                try:
                    kind, name = "input", invoke.input if isinstance(invoke.input, str) else invoke.id
                    compute = program.inputs[invoke.id]
                    value = None if compute is None else freeze(compute(self._context, event), "input")
                    kind, name = "delay", getattr(invoke.timeout, "name", "timeout")
                    limit = program.timeouts[invoke.id]
                    timeout = None if limit is None else limit(self._context, event) / 1000
                except Exception as error:
                    raise Failed(kind, where, name, invoke.position, error) from error
                if invoke.id in self._invocations:  # a spawned actor of that name
                    self._stop_invocation(self._invocations[invoke.id])
                self._start(invoke.id, invoke.src, value, invoke.state, invoke.on_restore, timeout)
        work.starting = {}

    # ------------------------------------------------------------ the end of a macrostep

    def _finish(self, plan: Plan, steps: list[SismicMicroStep]) -> None:
        """The root is complete: timers dropped, invocations stopped, all exit code run; the configuration stays."""
        work = self._begin_work()
        work.starting = {}
        program = self._program
        self._is_done = True
        self._internal = None
        for invocation in self._invocations.values():
            work.effects.append(StopInvocation(invocation.id, invocation.number))
        self._invocations = _NO_INVOCATIONS
        node = plan.target
        root_output = program.outputs[0]
        self._output = self._final_output(0 if root_output is not None else plan.finished_by)
        self._node = node
        for state in sorted(node.configuration, reverse=True):
            operations = tuple(o for o in program.exit_operations(state) if o[0] == ACTION)
            if self._observation is not None:
                self._observation.closing(state, operations)
            elif operations:
                self._run(operations)
        work.raised = []
        self._internal = None
        sent, work.sent = work.sent, []
        work.staged = [lambda agenda: agenda.clear()]
        steps.append(_micro(None, (), (), (), sent))

    def _commit(self, now: float, steps: list[SismicMicroStep], receipt: Receipt | None) -> Step | None:
        work = self._work
        names = self._names()
        if work is None:
            if not steps:
                return None
            return Step(now, steps, receipt, configuration=names)
        if work.starting:
            self._start_invocations(work)
        for change in work.staged:
            change(self._agenda)
        self._work = None
        if not steps:
            return None
        return Step(now, steps, receipt, tuple(work.updates), tuple(work.effects), names)

    def _undo(
        self,
        node: Node | None,
        history: dict[int, tuple[int, ...]],
        invocations: Mapping[str, Invocation],
        number: int,
        olds: Mapping[Any, Any],
        seq: int,
        times: Any,
    ) -> None:
        """Everything as before the event."""
        work = self._work
        if work is not None:
            for name, old in reversed(work.undo):
                if old is MISSING:
                    self._fields.pop(name, None)
                else:
                    self._fields[name] = old
        self._node, self._history, self._invocations = node, history, invocations
        self._number, self._olds = number, olds
        self._seq = max([seq, *(s for _, s, _ in self._agenda.events)])
        self._internal = None
        self._is_done = False
        self._output = None
        self._work = None
        if self._observation is not None:
            self._observation.roll_back(times)

    def _recover(
        self,
        now: float,
        event: Event | None,
        failure: Failed,
        marks: tuple[Any, ...],
        ended: Invocation | None,
        stop: Invocation | None,
    ) -> Step:
        """Give the machine `error.execution`, if it handles that here; else the caller gets the error."""
        node = self._node
        error = self._error(failure, event)
        if node is not None:
            rows = self._program.rows(node, self._program.structure.event_key("error.execution"))
            if rows.rows:
                step = self._process_error(now, event, failure, rows, marks, ended, stop)
                if step is not None:
                    return step
        raise error from (failure.cause if isinstance(failure.cause, BaseException) else None)

    def _process_error(
        self,
        now: float,
        event: Event | None,
        failure: Failed,
        rows: Rows,
        marks: tuple[Any, ...],
        ended: Invocation | None,
        stop: Invocation | None,
    ) -> Step | None:
        data = {
            "kind": failure.kind,
            "where": failure.where,
            "function": failure.function,
            "message": failure.message,
            "event": {"name": event.name, "data": event.data} if event is not None else None,
        }
        failed_event = make_event("error.execution", data, InternalEvent)
        failed_event.at_ms = int(now * 1000)
        self._is_busy = True
        try:
            self._event = failed_event
            if ended is not None:
                self._end_invocation(ended, stop)
            chosen = rows.fixed if rows.fixed is not None else self._select(rows, failed_event)
            if not chosen:
                self._undo(*marks)
                return None
            assert self._node is not None
            steps: list[SismicMicroStep] = [] if event is None else [_micro(event, (), (), ())]
            self._microstep(self._program.plan(self._node, chosen, self._history), failed_event, steps)
            self._stabilise(steps)
            return self._commit(now, steps, Receipt.FAILED)
        except BaseException as error:
            self._undo(*marks)
            if isinstance(error, Failed):
                cause = error.cause if isinstance(error.cause, BaseException) else None
                raise self._error(error, event) from cause
            if isinstance(error, ListenerFailed):
                raise error.cause from error.cause.__cause__
            raise
        finally:
            self._is_busy = False

    def _error(self, failure: Failed, event: Event | None) -> ActionError:
        fields: dict[str, Any] = {
            "kind": failure.kind,
            "where": failure.where,
            "function": failure.function,
            "position": failure.position,
            "event": event,
        }
        if not failure.contract:
            return ActionError(failure.message, **fields)
        found = _CONTRACT_ERRORS[failure.contract](failure.message, **fields)
        found._configuration = self.configuration
        found._obj = failure.element
        found._assertion = failure.function
        found._context = dict(self.context)
        found._step = None
        return found

    # ------------------------------------------------------------ asking

    def can(self, event: str, /, **data: Any) -> bool:
        """Whether an event would be taken now. Nothing is changed; a guard that raises counts as false."""
        return can(self, make_event(event, data))

    def why_not(self, event: str, /, **data: Any) -> tuple[Refusal, ...]:
        """Why an event would not be taken now: each candidate with the guards that denied it and what they read."""
        return why_not(self, make_event(event, data))

    # ------------------------------------------------------------ snapshots

    def snapshot(self) -> dict[str, Any]:
        """The whole machine as one JSON object; equal machines give equal objects.

        Raises:
            SnapshotError: Called in mid-step, or a queued event's payload is not JSON.
        """
        return take_snapshot(self)

    def restore(self, snapshot: Mapping[str, Any]) -> Step:
        """Go on exactly where a snapshot was taken; this machine must be fresh (not started).

        Returns:
            A step whose effects restart what was running, by each invocation's policy.

        Raises:
            SnapshotError: It does not fit this chart, or is damaged; the machine is unchanged.
        """
        return restore_into(self, snapshot)

    def release(self, id: str) -> Step:
        """Start an invocation that a restore held back (policy `ask`).

        Raises:
            SnapshotError: No invocation of that id is held.
        """
        return release(self, id)

    def checkpoint(self) -> dict[str, Any]:
        """The machine as it is, for `roll_back_to`: cheaper than a snapshot, and not limited to JSON."""
        observation = self._observation
        kept = {name: value for name, value in self.__dict__.items() if name not in _NOT_KEPT}
        kept["_fields"] = dict(self._fields)
        kept["_agenda"] = self._agenda.copy()
        kept["_internal"] = None if self._internal is None else deque(self._internal)
        kept["_marks"] = None if observation is None else observation.mark()
        return kept

    def roll_back_to(self, checkpoint: Mapping[str, Any]) -> None:
        """Be again as at the checkpoint."""
        kept = dict(checkpoint)
        marks, fields = kept.pop("_marks"), kept.pop("_fields")
        self.__dict__.update(kept)
        self._agenda = kept["_agenda"].copy()
        self._fields.clear()
        self._fields.update(fields)
        if self._observation is not None:
            self._observation.roll_back(marks)

    # ------------------------------------------------------------ sismic's listeners

    def attach(self, listener: Callable[[MetaEvent], Any]) -> None:
        """Call `listener` with every meta-event: see sismic's documentation and docs/embedding.md."""
        if self._observation is None:
            self._observation = Observation(self)
        self._observation.listeners.append(listener)

    def detach(self, listener: Callable[[MetaEvent], Any]) -> None:
        """Stop calling a listener."""
        observation = self._observation
        if observation is None:
            raise ValueError("the listener is not attached")
        observation.listeners.remove(listener)
        if not observation.listeners and not observation.is_needed:
            self._observation = None

    @property
    def _listeners(self) -> list[Callable[[MetaEvent], Any]]:
        return self._observation.listeners if self._observation is not None else []

    def bind_property_statechart(
        self, statechart: Any, *, interpreter_klass: Callable[..., Any] | None = None
    ) -> Callable[[MetaEvent], Any]:
        """Watch this machine with a property statechart: it fails by reaching its final state.

        Args:
            statechart: A rawko Chart, or a sismic Statechart (its code runs only if this machine is trusted, or
                through an `interpreter_klass` of your own).

        Raises:
            UntrustedCodeError: It holds code and nobody trusts it.
        """
        from rawko.interpreter.observed import property_listener

        listener = property_listener(self, statechart, interpreter_klass)
        self.attach(listener)
        return listener

    # ------------------------------------------------------------ pickling

    def __getstate__(self) -> dict[str, Any]:
        from rawko.interpreter.errors import SnapshotError

        raise SnapshotError("interpreters are not pickled; take snapshot() and restore() it into a new one")

    def __repr__(self) -> str:
        return f"Interpreter({self._chart.name!r}, [{', '.join(self.configuration)}])"


def _model_of(chart: Chart, bindings: Bindings) -> ContextModel | FreeContext:
    if chart.context is None:
        return FREE
    try:
        return context_model(bindings.get("context", chart.context))
    except BindingError as error:
        raise BindingError(f"{chart.position}: {error}", name=chart.context, kind="context") from None


def _init_event(input: Mapping[str, Any]) -> Event:
    return make_event(INIT, {"input": input})


_INIT_EVENT = make_event(INIT, {})


def _invocation_event(name: str, data: Any, invocation: Invocation, *, is_end: bool) -> InvocationEvent:
    event = make_event(name, data, InvocationEvent)
    assert isinstance(event, InvocationEvent)
    event.id, event.number, event.is_end = invocation.id, invocation.number, is_end
    return event


def _micro(
    event: Any, transitions: tuple[Any, ...], entered: tuple[str, ...], exited: tuple[str, ...], sent: Any = None
) -> MicroStep:
    micro = MicroStep.__new__(MicroStep)
    micro.event = event
    micro.transition = transitions[0] if transitions else None
    micro.transitions = list(transitions)
    micro.entered_states = list(entered)
    micro.exited_states = list(exited)
    micro.sent_events = sent if sent is not None else []
    return micro


def _action_failed(action: CompiledAction, where: Where, error: Exception) -> Failed:
    return Failed("action", where.text, action.name, action.position, error)


def _with_earlier(found: Step, before: list[Step]) -> Step:
    """One step to return for what ran before it too: its updates and effects come first."""
    return Step(
        found.time,
        [micro for step in (*before, found) for micro in step.steps],
        found.receipt,
        tuple(u for step in (*before, found) for u in step.updates),
        tuple(e for step in (*before, found) for e in step.effects),
        found.configuration,
    )


def _cycle(steps: list[SismicMicroStep], structure: Structure, now: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The states entered over and over at the end of a macrostep that does not end."""
    entered = [tuple(step.entered_states) for step in steps[-200:]]
    last = entered[-1]
    for length in range(1, len(entered)):
        if entered[-1 - length] == last:
            return tuple(entered[-length:]) or (now,)
    return (now,)
