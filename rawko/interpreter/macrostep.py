"""One macrostep, from one stable configuration to the next, whole or not at all (SCXML's main loop).

Eventless transitions, else the first internal event, else one external event if nothing was done yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from sismic.model import MicroStep as SismicMicroStep

from rawko.interpreter.agenda import Timer
from rawko.interpreter.core import NO_INVOCATIONS, empty_microstep, init_event, invocation_event
from rawko.interpreter.effects import SendTo, StopInvocation
from rawko.interpreter.errors import (
    ActionError,
    ContractFailed,
    EventlessCycleError,
    InterpreterError,
    InvariantFailed,
    PostconditionFailed,
    PreconditionFailed,
)
from rawko.interpreter.events import Event, InternalEvent, InvocationEvent, make_event
from rawko.interpreter.observed import Observation
from rawko.interpreter.operations import Operations
from rawko.interpreter.program import (
    ACTION,
    CodeGuardCall,
    Node,
    Plan,
    Rows,
)
from rawko.interpreter.steps import MicroStep, Receipt, Step
from rawko.interpreter.structure import Structure
from rawko.interpreter.values import Record
from rawko.interpreter.work import MISSING, Failed, Invocation, ListenerFailed

MAX_MICROSTEPS = 10_000
_CONTRACT_ERRORS: dict[str, type[ContractFailed]] = {
    "before": PreconditionFailed,
    "after": PostconditionFailed,
    "always": InvariantFailed,
}


class Macrosteps(Operations):
    """A machine that can take steps."""

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
            return self._macrostep(now, init_event(self._input), self._program.initial_plan())
        if self._is_done:
            self._agenda.clear()
            return None
        while (taken := self._agenda.next(now)) is not None:
            step = self._fire(now, taken) if isinstance(taken, Timer) else self._consume(now, taken)
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
            return self._macrostep(now, init_event(self._input), self._program.initial_plan())
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
            micro = empty_microstep(None, (), (), ())
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
        event = invocation_event(f"error.invoke.{invocation.id}", {"error": Record(error)}, invocation, is_end=True)
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
        steps.append(empty_microstep(event, (), (), ()))
        if rows.receipt is Receipt.UNKNOWN and name in self._chart.events:
            return Receipt.NOT_HANDLED
        return rows.receipt

    def _select(self, rows: Rows, event: Event | None) -> tuple[int, ...]:
        """Ask the candidates: inner states first, in a state the first that is true, then nobody above it."""
        context, current = self._context, self._event
        is_code = self._observation is not None
        chosen: list[int] = []
        passed: frozenset[int] = frozenset()
        for state, ancestors, candidates in rows.rows:
            if state in passed:
                continue
            for guard, transition in candidates:
                if guard is not None:
                    try:
                        if is_code and isinstance(guard, CodeGuardCall):
                            assert self._observation is not None
                            is_true: Any = self._observation.guard(transition, event)
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
        self._invocations = NO_INVOCATIONS
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
        steps.append(empty_microstep(None, (), (), (), sent))

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
            steps: list[SismicMicroStep] = [] if event is None else [empty_microstep(event, (), (), ())]
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
        found.describe(self.configuration, failure.element, dict(self.context))
        return found


def _cycle(steps: list[SismicMicroStep], structure: Structure, now: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The states entered over and over at the end of a macrostep that does not end."""
    entered = [tuple(step.entered_states) for step in steps[-200:]]
    last = entered[-1]
    for length in range(1, len(entered)):
        if entered[-1 - length] == last:
            return tuple(entered[-length:]) or (now,)
    return (now,)
