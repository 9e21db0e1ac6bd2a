"""What plans ask for, carried out: actions run, updates applied, timers and invocations begun and ended.

Everything goes through the `Work` of the macrostep, so that it can be undone.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import Any, assert_never

from sismic.model import Event as SismicEvent

from rawko.chart.definition import Invoke
from rawko.interpreter.compiled.contracts import require
from rawko.interpreter.compiled.functions import CodeCall, CompiledAction
from rawko.interpreter.compiled.program import (
    ACTION,
    CHECK,
    DONE,
    INVOKE,
    LEAVE,
    TIMERS,
    Operation,
    Where,
)
from rawko.interpreter.data.context_model import FREE
from rawko.interpreter.data.effects import LogLine, SendTo, StopInvocation, emit_event, log_line, start_invocation
from rawko.interpreter.data.events import ENVELOPE, Event, InternalEvent, make_event
from rawko.interpreter.data.updates import (
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
    assigned,
)
from rawko.interpreter.data.values import (
    DEEP,
    FROZEN,
    MAX_DEPTH,
    TOO_LONG,
    TOO_LOW,
    Record,
    Vector,
    depth_of,
    exact_text,
    freeze,
    freeze_fields,
)
from rawko.interpreter.errors import ContextError, InterpreterError, NotJsonError, shown
from rawko.interpreter.running.core import Core
from rawko.interpreter.running.event_queue import Timer
from rawko.interpreter.running.transaction import MISSING, Failed, Invocation, ListenerFailed, Work, new_invocation

_NAMES = frozenset({str, type(None)})


class Operations(Core):
    """A machine that can carry out the operations of a plan."""

    def _run(self, operations: tuple[Operation, ...]) -> None:
        """Carry out what an exit, a transition or an entry has to do."""
        context, event, work = self._context, self._event, self._begin_work()
        for kind, what, where in operations:
            if kind == ACTION:
                try:
                    update = what.update
                    if update is None:
                        if what.function is None:
                            assert self._observation is not None
                            self._observation.execute(what, where, event)
                            continue
                        update = what.function(context, event)
                        if update is None:
                            continue
                    if update.__class__ is Assign:
                        self._assign(update, work)
                    else:
                        self._apply(update, work)
                except (Failed, ListenerFailed):
                    raise
                except Exception as error:
                    failed = Failed("action", where.text, what.name, what.position, error)
                    if not self._program.errors_are_events:
                        raise failed from error
                    self._raise_error(failed)
                    self._run(_after_block(operations, what, where))
                    return
            elif kind == LEAVE:
                self._leave(what, *where, work=work)
            elif kind == TIMERS:
                self._set_timers(what, where)
            elif kind == INVOKE:
                work.starting[what] = event
            elif kind == DONE:
                self._raise_done(what, where)
            elif kind == CHECK and not self._ignore_contract:
                program = self._program
                require(program.structure, program.conditions, what, where, context, event, None, _nowhere)

    def _leave(self, state: int, timers: tuple[str, ...], invocations: tuple[str, ...], *, work: Work) -> None:
        """Timers cancelled, invocations stopped."""
        for timer in timers:
            work.staged.append(timer)
        if work.starting.pop(state, None) is None:
            for id in invocations:
                if id in self._invocations:
                    self._stop_invocation(self._invocations[id])

    def _set_timers(self, timers: Any, state: int) -> None:
        work = self._begin_work()
        for after, delay in timers:
            try:
                delay_s = delay(self._context, self._event) / 1000
            except Exception as error:
                where = f"state {after.state!r} (after)"
                failed = Failed("delay", where, getattr(after.delay, "name", "after"), after.position, error)
                if not self._program.errors_are_events:
                    raise failed from error
                self._raise_error(failed)
                continue
            self._seq += 1
            work.staged.append(
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
        work = self._begin_work()
        output = None
        if final >= 0:
            output = work.outputs[final] = self._final_output(final)
        event = make_event(name, {"output": output}, InternalEvent)
        assert isinstance(event, InternalEvent)
        work.raised.append(event)

    def _final_output(self, state: int) -> Any:
        compute = self._program.outputs[state]
        if compute is None:
            return None
        definition = self._program.structure.states[state]
        try:
            return freeze(self._value(compute, self._event), "output")
        except Exception as error:
            where = f"state {definition.name!r} (output)"
            failed = Failed("output", where, str(definition.output), definition.position, error)
            if not self._program.errors_are_events:
                raise failed from error
            self._raise_error(failed)
            return None

    def _value(self, compute: Any, event: Any) -> Any:
        """An input or output."""
        if compute.__class__ is CodeCall:
            assert self._observation is not None
            return self._observation.value(compute.code, event)
        return compute(self._context, event)

    # ------------------------------------------------------------ errors that are events

    def _raise_error(self, failed: Failed) -> None:
        """With `errors: scxml`, a failure is an event behind those that were raised so far."""
        cause = failed.cause
        data = error_data(failed, self._event)
        name = getattr(cause, "error_event", "error.execution")
        if (sendid := getattr(cause, "sendid", None)) is not None:
            data[ENVELOPE] = Record({"sendid": sendid})
        event = make_event(name, data, InternalEvent)
        assert isinstance(event, InternalEvent)
        work = self._begin_work()
        work.raised.append(event)
        work.sent.append(event)
        # The machine may not listen to it; then the log is all that tells.
        message = f"{name}: {failed.kind} {failed.function!r} of {failed.where}: {failed.message}"
        work.effects.append(LogLine(message, "warning", Record({"position": str(failed.position)})))

    def _flush_raised(self) -> None:
        """What was raised between microsteps enters the queue."""
        work = self._work
        if work is not None and work.raised:
            if self._internal is None:
                self._internal = deque()
            self._internal.extend(work.raised)
            work.raised = []

    # ------------------------------------------------------------ updates

    def _apply(self, update: Any, work: Work) -> None:
        """Apply what an action returned, in order; the most frequent kinds are asked for first."""
        kind = type(update)
        if kind is Assign:
            self._assign(update, work)
        elif kind is tuple or kind is list:
            for part in update:
                if part is not None:
                    self._apply(part, work)
        elif kind is Append:
            self._append(update, work)
        elif kind is Log:
            self._log(update, work)
        elif kind is Emit:
            event = update.event if update.event.__class__ is str else exact_text(update.event, "emit")
            work.effects.append(emit_event(event, freeze(update.data, event)))
        elif isinstance(update, Update):
            self._apply_other(update, work)
        else:
            raise TypeError(
                f"returned {shown(update)} ({kind.__name__}); accepted: None, an update such as assign(...) "
                "or send(...), or a tuple or list of updates"
            )

    def _assign(self, update: Assign, work: Work) -> None:
        fields, model = self._fields, self._model
        is_free = model is FREE
        changed: dict[str, Any] = {}
        for name, value in update.fields.items():
            kind = value.__class__
            if not (is_free and (kind in FROZEN or (kind is int and TOO_LOW < value < TOO_LONG))):
                value = model.field(name, value)
            changed[name] = value
            work.undo.append((name, fields.get(name, MISSING)))
            fields[name] = value
        work.updates.append(assigned(changed))

    def _apply_other(self, update: Update, work: Work) -> None:
        match update:
            case Append():
                self._append(update, work)
            case Raise(event, data):
                if data and (self._observation is None or not self._observation.has_evaluator):
                    data = freeze_fields(data, exact_text(event, "raise"))
                raised = make_event(event, data, InternalEvent)
                assert isinstance(raised, InternalEvent)
                work.raised.append(raised)
                work.sent.append(raised)
            case Send():
                self._send(update, work)
            case Cancel(id):
                work.staged.append(f"send:{exact_text(id, 'cancel')}")
            case Emit() | Log():
                self._apply(update, work)
            case Spawn(id, src, input):
                self._spawn(exact_text(id, "spawn"), exact_text(src, "spawn"), freeze(input, "input"))
            case Stop(id):
                id = exact_text(id, "stop")
                running = self._invocations.get(id)
                if running is not None and running.state is None:
                    self._stop_invocation(running)
            case Assign():
                self._assign(update, work)
            case _:
                assert_never(update)

    def _append(self, update: Append, work: Work) -> None:
        name = update.field
        old = self._fields.get(name)
        if not isinstance(old, Vector):
            raise ContextError(f"context field {name!r} is not a list: cannot append to {shown(old, 60)}", field=name)
        item = self._model.item(name, update.item)
        if type(item) in DEEP and depth_of(item) >= MAX_DEPTH:
            raise NotJsonError(f"{name}[]", ..., f"at most {MAX_DEPTH} levels of nesting")
        work.undo.append((name, old))
        self._fields[name] = old.appended(item)
        work.updates.append(Append(name, item))

    def _log(self, update: Log, work: Work) -> None:
        message = update.message if update.message.__class__ is str else exact_text(update.message, "log")
        level = update.level if update.level.__class__ is str else exact_text(update.level, "log")
        work.effects.append(log_line(message, level, freeze(update.data, "log")))

    def _send(self, update: Send, work: Work) -> None:
        if not 0 <= update.delay_ms < inf:
            raise ValueError(f"delay {shown(update.delay_ms)} is none; accepted: milliseconds >= 0, finite")
        if not (update.event.__class__ is str and update.to.__class__ in _NAMES and update.id.__class__ in _NAMES):
            update = Send(
                exact_text(update.event, "send"),
                update.data,
                None if update.to is None else exact_text(update.to, "send"),
                update.delay_ms,
                None if update.id is None else exact_text(update.id, "send"),
            )
        data = freeze(update.data, update.event)
        if update.id is not None and self._observation is not None and self._observation.has_data_model:
            data = Record({**data, ENVELOPE: Record({"sendid": update.id, **data.get(ENVELOPE, {})})})
        self._seq += 1
        if update.delay_ms or (update.id is not None and update.to is None):
            delay = update.delay_ms / 1000
            id = f"send:{update.id}" if update.id is not None else f"send.{self._seq}"
            work.staged.append(
                Timer(self._time + delay, self._seq, id, update.event, data, target=update.to, delay=delay)
            )
            work.sent.append(make_event(update.event, data))
        elif update.to is None:
            event = make_event(update.event, data)
            work.stage_event(self._time, self._seq, event)
            work.sent.append(event)
        else:
            work.effects.append(SendTo(update.to, update.event, data))
            work.sent.append(make_event(update.event, data))

    # ------------------------------------------------------------ invocations

    def _end_invocation(self, invocation: Invocation, *, is_stopped: bool) -> None:
        """An actor has told its end; one that timed out must be stopped."""
        if is_stopped:
            self._stop_invocation(invocation)
            return
        self._forget_invocation(invocation)
        if invocation.timeout_s is not None:
            self._begin_work().staged.append(timeout_id(invocation.number))

    def _stop_invocation(self, invocation: Invocation) -> None:
        self._forget_invocation(invocation)
        work = self._begin_work()
        work.effects.append(StopInvocation(invocation.id, invocation.number))
        if invocation.timeout_s is not None:
            work.staged.append(timeout_id(invocation.number))

    def _forget_invocation(self, invocation: Invocation) -> None:
        left = self._invocations.copy()  # a new one: what a rollback goes back to stays as it is
        left.pop(invocation.id, None)
        self._invocations = left

    def _spawn(self, id: str, src: str, input: Any) -> None:
        if self._is_done:
            return  # exit code of a machine that has finished: nothing would ever stop it
        if id in self._invocations:
            raise InterpreterError(f"an actor with id {id!r} is running already")
        self._start(id, src, input, None, "restart", None)

    def _delay_raised(self, event: SismicEvent, delay: float) -> None:
        """sismic's `send(..., delay=...)` in trusted code."""
        work = self._begin_work()
        self._seq += 1
        id = f"send.{self._seq}"
        work.staged.append(Timer(self._time + delay, self._seq, id, event.name, event.data, delay=delay))

    def _start(self, id: str, src: str, input: Any, state: str | None, policy: str, timeout_s: float | None) -> None:
        work = self._begin_work()
        self._number = number = self._number + 1
        invocation = new_invocation(id, state, src, input, number, self._time, policy, timeout_s)
        self._invocations = {**self._invocations, id: invocation}
        work.effects.append(start_invocation(id, src, input, number, state, policy))
        if timeout_s is not None:
            self._seq += 1
            work.staged.append(timeout_timer(invocation, self._time, self._seq))

    def _start_invocations(self, work: Work) -> None:
        """For states entered and still active, in document order, with the event of their entry."""
        program = self._program
        starting, work.starting = work.starting, {}
        for state in sorted(starting):
            event = starting[state]
            for invoke, compute, limit in program.starts[state]:
                value: Any = None
                timeout_s: float | None = None
                is_computed = False
                try:
                    if compute is not None:
                        value = freeze(self._value(compute, event), "input")
                    is_computed = True
                    if limit is not None:
                        timeout_s = limit(self._context, event) / 1000
                except Exception as error:
                    failed = _not_started(invoke, error, is_computed=is_computed)
                    if not program.errors_are_events:
                        raise failed from error
                    self._raise_error(failed)
                    continue
                if invoke.id in self._invocations:  # a spawned actor of that name
                    self._stop_invocation(self._invocations[invoke.id])
                self._start(invoke.id, invoke.src, value, invoke.state, invoke.on_restore, timeout_s)


def _nowhere(name: str) -> bool:
    """Conditions that are looked at in passing do not ask what is active."""
    return False


def _not_started(invoke: Invoke, error: Exception, *, is_computed: bool) -> Failed:
    """Its input could not be computed, or else its timeout."""
    where = f"state {invoke.state!r} (invoke {invoke.id})"
    if is_computed:
        return Failed("delay", where, getattr(invoke.timeout, "name", "timeout"), invoke.position, error)
    name = invoke.input if isinstance(invoke.input, str) else invoke.id
    return Failed("input", where, name, invoke.position, error)


def _after_block(operations: tuple[Operation, ...], action: CompiledAction, block: Where) -> tuple[Operation, ...]:
    """What is left to do where an action has failed: nothing more of its block."""
    place = next(i for i, (_, what, where) in enumerate(operations) if what is action and where is block)
    return tuple(each for each in operations[place + 1 :] if each[0] != ACTION or each[2] is not block)


def error_data(failure: Failed, event: Event | None) -> dict[str, Any]:
    """The payload of `error.execution`."""
    return {
        "kind": failure.kind,
        "where": failure.where,
        "function": failure.function,
        "message": failure.message,
        "event": None if event is None else Record({"name": event.name, "data": Record(dict(event.data))}),
    }


def timeout_id(number: int) -> str:
    """The id of the timer that limits an invocation."""
    return f"timeout.{number}"


def timeout_timer(invocation: Invocation, now: float, seq: int) -> Timer:
    """The timer that limits an invocation which starts now."""
    number, delay = invocation.number, invocation.timeout_s
    assert delay is not None
    event = f"error.invoke.{invocation.id}"
    return Timer(now + delay, seq, timeout_id(number), event, {}, None, invocation.state, delay, "original", number)
