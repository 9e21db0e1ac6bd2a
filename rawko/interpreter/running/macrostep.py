"""One macrostep, from one stable configuration to the next, whole or not at all (SCXML's main loop).

Eventless transitions, else the first internal event, else one external event if nothing was done yet. What happens
when something fails is in `recovery`.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from sismic.clock import SimulatedClock
from sismic.model import MicroStep as SismicMicroStep

from rawko.interpreter.bounds.repetition import Repetition, limit_error
from rawko.interpreter.compiled.program import ACTION, CodeGuardCall, Plan, Rows, Where, in_blocks
from rawko.interpreter.compiled.tables import Candidate, EventKey
from rawko.interpreter.data.effects import SendTo, StopInvocation
from rawko.interpreter.data.events import Event, InvocationEvent, make_event
from rawko.interpreter.data.steps import MicroStep, Receipt, Step
from rawko.interpreter.data.values import Record
from rawko.interpreter.errors import InvocationError
from rawko.interpreter.running.core import NO_INVOCATIONS, init_event, invocation_event
from rawko.interpreter.running.event_queue import Timer
from rawko.interpreter.running.instrumentation import Observation
from rawko.interpreter.running.recovery import Marks, Recovery
from rawko.interpreter.running.transaction import Failed, Invocation

TAKEN = Receipt.TAKEN


class Macrosteps(Recovery):
    """A machine that can take steps."""

    def execute_once(self) -> Step | None:
        """Run one macrostep; None if nothing is due.

        Raises:
            ActionError, InvocationError, EventlessCycleError: See `rawko.interpreter.errors`; rolled back.
        """
        observation = self._observation
        if self._is_busy or observation is not None:
            self._require_idle()
        clock = self.clock
        if clock.__class__ is SimulatedClock and not clock._play:
            self._time = now = clock._time
        else:
            self._time = now = clock.time
        if observation is None or (observation.is_listening_only and not observation.listeners):
            step = self._execute_next(now)  # contracts alone are looked at where something is bound by them
        else:
            step = self._execute_observed(now, observation)
        if self._subscribers and step is not None:
            self._tell_subscribers(step)
        return step

    def _tell_subscribers(self, step: Step) -> None:
        """All of them, whatever one raises: the step has happened."""
        failure: Exception | None = None
        self._is_busy = True
        try:
            for subscriber in self._subscribers.values():
                try:
                    subscriber(step)
                except Exception as error:  # noqa: BLE001 - goes to the caller, after the others were told
                    failure = failure or error
        finally:
            self._is_busy = False
        if failure is not None:
            raise failure

    def _execute_observed(self, now: float, observation: Observation, event: Event | None = None) -> Step | None:
        """A macrostep that is listened to; for the event, if one is given, as if it had been queued."""
        try:
            if event is None:
                observation.step_started(now)
                step = self._execute_next(now)
            else:
                step = self._execute_sent(now, event, observation)
            if step is None and self._node is not None and not self._is_done:
                self._check_idle(observation)
            if observation.is_open:
                observation.step_ended()
        except BaseException:
            observation.step_failed()
            raise
        return step

    def _execute_sent(self, now: float, event: Event, observation: Observation) -> Step | None:
        seq, node = self._seq, self._node
        assert node is not None
        is_next = False
        try:
            observation.step_started(now)
            is_next = not self._internal
        finally:
            if not is_next:  # a listener has raised, or put something before it
                self._agenda.push(now, seq, event)
        if not is_next:
            return self._execute_next(now)
        plan = node.plain.get(event.name)
        if plan is not None and not (plan.is_bound and observation.binds(plan)):
            return self._take_told(now, event, plan, observation)
        return self._macrostep(now, event)

    def _check_idle(self, observation: Observation) -> None:
        """Invariants also hold where nothing happens: time may have passed (sismic's rule)."""
        self._is_busy = True
        try:
            observation.check_invariants(None)
        except Failed as failure:
            raise self._error(failure, None) from failure.__cause__
        finally:
            self._is_busy = False

    def _execute_next(self, now: float) -> Step | None:
        node = self._node
        if node is None:
            return self._macrostep(now, init_event(self._input), self._program.initial_plan())
        if self._is_done:
            self._agenda.clear()
            return None
        observation = self._observation
        if self._internal or (
            observation is not None and observation.has_evaluator and self._program.rows(node, None).rows
        ):
            step = self._macrostep(now, None)
            if step is not None:
                return step
        next_of = self._agenda.next
        while (taken := next_of(now)) is not None:
            if observation is None and taken.__class__ is Event:
                plan = node.plain.get(taken.name)
                if plan is not None:
                    return self._take_plain(now, taken, plan)
            elif observation is not None and observation.is_listening_only and taken.__class__ is Event:
                plan = node.plain.get(taken.name)
                if plan is not None and not observation.binds(plan):
                    return self._take_told(now, taken, plan, observation)
            step = self._fire(now, taken) if isinstance(taken, Timer) else self._consume(now, taken)
            if step is not None:
                return step
        return None

    def _take_plain(self, now: float, event: Event, plan: Plan) -> Step:
        """A step that nothing can come between: see `Node.plain`."""
        event.at_ms = int(now * 1000)
        self._event = event
        self._idle_choice = None
        if plan.writes:
            self._history = {**self._history, **dict(plan.writes)}
        self._node = target = plan.target
        return Step(now, [MicroStep(plan, event, [])], TAKEN, (), (), target)

    def _take_told(self, now: float, event: Event, plan: Plan, observation: Observation) -> Step:
        """The same, with listeners: nothing can fail but they, and they may queue events."""
        before = self._node, self._history, self._event
        steps: list[SismicMicroStep] = [MicroStep(plan, event, [])]
        marks: Marks | None = None
        self._is_busy = True
        self._work = None
        try:
            event.at_ms = int(now * 1000)
            self._event = event
            self._idle_choice = None
            if plan.writes:
                self._history = {**self._history, **dict(plan.writes)}
            observation.tell(plan, event)
            self._node = plan.target
            if not self._internal:
                observation.step_ended()
                return Step(now, steps, Receipt.TAKEN, (), (), plan.target)
            marks = self._mark(*before)
            self._stabilise(steps)
            step = self._commit(now, steps, Receipt.TAKEN)
            assert step is not None
            return step
        except BaseException as error:  # noqa: BLE001 - whatever it is, the machine goes back first
            failure = error
        finally:
            self._is_busy = False
        return self._recover(now, event, failure, marks or self._mark(*before), None, is_timeout=False)

    def _fire(self, now: float, timer: Timer) -> Step | None:
        """A delayed event is due: ours is processed, another's becomes an effect."""
        if timer.target is not None:
            effect = SendTo(timer.target, timer.event, timer.data)
            micro = MicroStep(None, None, [])
            return Step(now, [micro], effects=(effect,), node=self._node)
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
        name = f"error.invoke.{invocation.id}"
        event = invocation_event(name, {"error": Record(error)}, invocation.id, timer.number, is_end=True)
        return self._macrostep(now, event, None, invocation, is_timeout=True)

    def _consume(self, now: float, event: Event) -> Step | None:
        if event.__class__ is not InvocationEvent:
            return self._macrostep(now, event)
        invocation = self._invocations.get(event.id)
        if invocation is None or invocation.number != event.number:
            if not self._program.errors_are_events:
                return None  # of an invocation that has ended
            return self._macrostep(now, event)  # SCXML: what came while it was running is heard
        return self._macrostep(now, event, None, invocation if event.is_end else None)

    def _macrostep(
        self,
        now: float,
        event: Event | None,
        plan: Plan | None = None,
        ended: Invocation | None = None,
        *,
        is_timeout: bool = False,
    ) -> Step | None:
        """Process an event (None: eventless transitions first) to stability, whole or not at all.

        Args:
            plan: What to do for the event, where that is not selected: the first entry.
            ended: The invocation whose end the event tells.
            is_timeout: It has not told it itself, and must be stopped.
        """
        marks = self._marks_now()
        steps: list[SismicMicroStep] = []
        self._is_busy = True
        self._work = None
        try:
            if event is not None:
                event.at_ms = int(now * 1000)
                self._event = event
                self._idle_choice = None
            receipt: Receipt | None = None
            if plan is not None:
                self._microstep(plan, None, steps)
            elif event is not None:
                if self._program.passes_on:
                    self._pass_on(event)
                if ended is not None:
                    self._end_invocation(ended, is_stopped=is_timeout)
                receipt = self._process(event, steps)
                if ended is not None and receipt is not TAKEN and event.name == f"error.invoke.{ended.id}":
                    raise InvocationError(ended.id, event.data.get("error"))
            self._stabilise(steps)
            return self._commit(now, steps, receipt)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the machine goes back first
            failure = error
        finally:
            self._is_busy = False
        return self._recover(now, event, failure, marks, ended, is_timeout=is_timeout)

    def _process(self, event: Event, steps: list[SismicMicroStep]) -> Receipt:
        """Select for an event, and take what is selected."""
        node = self._node
        assert node is not None
        program = self._program
        structure = program.structure
        name: str = event.name
        key: EventKey = name
        rows = node.rows.get(name)
        if rows is None:
            key = structure.event_key(name)
            rows = program.rows(node, key)
        chosen = rows.fixed
        if chosen is None:
            chosen = self._select(rows, event)
        if self._observation is not None:
            self._observation.event_consumed(event)
        if chosen:
            plan = node.plans.get(chosen)
            if plan.__class__ is not Plan:
                plan = program.plan(node, chosen, self._history)
            if rows.fixed is not None and key not in node.plain:
                program.note_plain(node, key, plan)
            self._microstep(plan, event, steps)
            return TAKEN
        steps.append(MicroStep(None, event, []))
        if rows.receipt is Receipt.UNKNOWN and name in self._chart.events:
            return Receipt.NOT_HANDLED
        return rows.receipt

    def _pass_on(self, event: Event) -> None:
        """SCXML's finalize and autoforward, before anything is selected for an external event."""
        assert self._node is not None
        program, work = self._program, self._begin_work()
        for state in sorted(self._node.configuration):
            for invoke in program.structure.states[state].invoke:
                running = self._invocations.get(invoke.id)
                if running is None or running.state != invoke.state:
                    continue
                if isinstance(event, InvocationEvent) and event.id == invoke.id and invoke.id in program.finalizers:
                    text = f"state {invoke.state!r} (finalize {invoke.id})"
                    place = Where(text, "finalize", state)
                    self._run(in_blocks(program.finalizers[invoke.id], lambda place=place: place))  # type: ignore[misc]
                if invoke.autoforward and not event.name.startswith("after."):
                    work.effects.append(SendTo(invoke.id, event.name, event.data))
        self._flush_raised()

    def _select(self, rows: Rows, event: Event | None) -> tuple[int, ...]:
        """Ask the candidates: inner states first, in a state the first that is true, then no state above it."""
        if rows.paths is not None:
            return self._select_per_leaf(rows, rows.paths, event)
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
                        if is_code and guard.__class__ is CodeGuardCall:
                            assert self._observation is not None
                            is_true: Any = self._observation.guard(transition, event)
                        else:
                            is_true = guard(context, current)
                    except Exception as error:
                        failed = self._guard_failed(transition, error)
                        if not self._program.errors_are_events:
                            raise failed from error
                        self._raise_guard_error(transition, failed, event)
                        continue
                    if not is_true:
                        continue
                chosen.append(transition)
                passed = passed | ancestors if passed else ancestors
                break
        return tuple(chosen)

    def _select_per_leaf(self, rows: Rows, paths: tuple[tuple[int, ...], ...], event: Event | None) -> tuple[int, ...]:
        """SCXML's selectTransitions: from each active leaf upwards, to the first that is true; no guard asked twice."""
        chosen: dict[int, None] = {}
        answers: dict[int, int] = {}
        for path in paths:
            for place in path:
                if place not in answers:
                    answers[place] = self._first_true(rows.rows[place][2], event)
                if answers[place] >= 0:
                    chosen.setdefault(answers[place])
                    break
        return tuple(chosen)

    def _first_true(self, candidates: tuple[Candidate, ...], event: Event | None) -> int:
        """The transition of a state that is taken, or -1."""
        for guard, transition in candidates:
            if guard is None:
                return transition
            try:
                if guard.__class__ is CodeGuardCall:
                    assert self._observation is not None
                    is_true: Any = self._observation.guard(transition, event)
                else:
                    is_true = guard(self._context, self._event)
            except Exception as error:
                failed = self._guard_failed(transition, error)
                if not self._program.errors_are_events:
                    raise failed from error
                self._raise_guard_error(transition, failed, event)
                continue
            if is_true:
                return transition
        return -1

    def _raise_guard_error(self, transition: int, failed: Failed, event: Event | None) -> None:
        """A guard that fails is false; that of an eventless transition is told once in a macrostep, or it would be
        for ever."""
        work = self._begin_work()
        if event is None:
            if transition in work.failed:
                return
            work.failed |= {transition}
        self._raise_error(failed)
        self._flush_raised()

    def _stabilise(self, steps: list[SismicMicroStep]) -> None:
        """Eventless transitions, else the first internal event, until there is neither."""
        program = self._program
        if not (program.has_eventless or self._internal):
            return
        count, next_look = 0, self._first_look
        watch: Repetition | None = None
        while not self._is_done:
            if count >= next_look:
                if count >= self._max_microsteps:
                    raise limit_error(self, steps, self._max_microsteps)
                if watch is None:
                    watch = Repetition(self, steps)
                else:
                    watch.look()
            node = self._node
            assert node is not None
            rows = node.rows.get(None) or program.rows(node, None)
            chosen = rows.fixed
            if chosen is None:
                chosen = self._select(rows, None)
            if not chosen or chosen == self._idle_choice:
                if not self._internal:
                    return
                event = self._internal.popleft()
                self._idle_choice = None
                event.at_ms = int(self._time * 1000)
                self._event = event
                self._process(event, steps)
            else:
                self._take_eventless(node, chosen, steps)
            count += 1

    def _take_eventless(self, node: Any, chosen: tuple[int, ...], steps: list[SismicMicroStep]) -> None:
        plan = node.plans.get(chosen)
        if plan.__class__ is not Plan:
            plan = self._program.plan(node, chosen, self._history)
        if not plan.is_still:
            self._microstep(plan, None, steps)
            self._idle_choice = None
            return
        before = self._traces()
        self._microstep(plan, None, steps)
        self._idle_choice = chosen if self._traces() == before else None

    def find_idle_choice(self, then: float) -> None:
        """For a restored machine: which eventless transitions came to nothing at `then`, and wait for an event."""
        node, now = self._node, self._time
        assert node is not None
        self._time = then
        try:
            rows = self._program.rows(node, None)
            chosen = rows.fixed if rows.fixed is not None else self._select(rows, None)
            plan = self._program.plan(node, chosen, self._history) if chosen else None
        except Failed:
            return  # it raises again when it is asked in earnest
        finally:
            self._work = self._internal = None  # what a guard's failure has raised: it is raised again, too
            self._time = now
        if plan is not None and plan.is_still:
            self._idle_choice = chosen

    def _traces(self) -> tuple[int, int, int, int]:
        """What a microstep leaves behind, besides its configuration."""
        work, internal = self._work, len(self._internal or ())
        if work is None:
            return (0, 0, 0, internal)
        return (len(work.updates), len(work.effects), len(work.staged), internal)

    # ------------------------------------------------------------ one microstep

    def _microstep(self, plan: Plan, event: Event | None, steps: list[SismicMicroStep]) -> None:
        if plan.writes:
            self._history = {**self._history, **dict(plan.writes)}
        work, observation = self._work, self._observation
        if observation is not None and not plan.is_bound and observation.is_quiet:
            observation = None  # nobody looks, and no contract speaks of it
        if observation is not None:
            work = self._begin_work()
            observation.microstep(plan, event)
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
        steps.append(MicroStep(plan, event, sent))
        if observation is not None:
            observation.microstep_ended(sent)
        if plan.finished_by >= 0:
            self._finish(plan, steps)

    # ------------------------------------------------------------ the end of a macrostep

    def _finish(self, plan: Plan, steps: list[SismicMicroStep]) -> None:
        """The root is complete: timers dropped, invocations stopped, all exit code run; the configuration stays."""
        work = self._begin_work()
        work.starting = {}
        self._is_done = True
        self._internal = None
        for invocation in self._invocations.values():
            work.effects.append(StopInvocation(invocation.id, invocation.number))
        self._invocations = NO_INVOCATIONS
        program, final = self._program, plan.finished_by
        output = work.outputs[final] if final in work.outputs else self._final_output(final)
        for state in sorted(plan.target.configuration, reverse=True):
            operations = tuple(o for o in program.exit_operations(state) if o[0] == ACTION)
            if self._observation is not None:
                self._observation.closing(state, operations)
            elif operations:
                self._run(operations)
        self._output = output if program.outputs[0] is None else self._final_output(0)
        work.raised = []
        self._internal = None
        sent, work.sent = work.sent, []
        work.staged = [lambda agenda: agenda.clear()]
        steps.append(MicroStep(None, None, sent))
        if self._observation is not None:
            self._observation.microstep_ended(sent)

    def _commit(self, now: float, steps: list[SismicMicroStep], receipt: Receipt | None) -> Step | None:
        work = self._work
        if work is not None and work.starting:
            self._start_invocations(work)
            while work.raised:  # only where errors are events: an input has failed
                self._flush_raised()
                self._stabilise(steps)
                self._start_invocations(work)
        if not steps:
            return None
        if self._observation is not None:
            self._observation.step_ended()  # the last thing that may fail, and undo all
        if work is None:
            return Step(now, steps, receipt, node=self._node)
        if work.staged:
            work.apply_to(self._agenda)
        self._work = None
        return Step(now, steps, receipt, tuple(work.updates), tuple(work.effects), self._node)
