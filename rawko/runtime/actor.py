"""An actor: a machine that lives in an asyncio loop. It waits for events and timers, commits steps, starts effects.

Commit order, for every macrostep: step, journal commit, inspect, start effects.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, assert_never

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.clocks import Clock, SimulatedClock, WallClock
from rawko.interpreter.effects import Effect, EmitEvent, LogLine, SendTo, StartInvocation, StopInvocation
from rawko.interpreter.events import make_event
from rawko.interpreter.interpreter import Interpreter
from rawko.interpreter.steps import Step
from rawko.interpreter.values import freeze, thaw
from rawko.runtime.errors import ActorCrashed, ActorStopped, InboxFull, WaitTimeout
from rawko.runtime.inspection import InspectionEvent
from rawko.runtime.invocations import Invocations
from rawko.runtime.journal import Journal
from rawko.runtime.logic import ChildMachine
from rawko.runtime.session import CHECKPOINT_EVERY, LogWriter, Session

INBOX_LIMIT = 10_000
StepListener = Callable[[Step], None]
EmitListener = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class _Parent:
    """The machine that invoked this one."""

    actor: Actor
    id: str
    number: int


@dataclass(slots=True, eq=False)
class _Waiter:
    """Somebody who waits for a condition."""

    holds: Callable[[Actor], bool]
    future: asyncio.Future[None]


class Actor:
    """A running machine.

        async with Actor(chart, bindings, input={...}) as actor:
            actor.send("START_TASK", task="...")
            await actor.wait_for("complete", timeout_s=60)

    Args:
        chart, bindings, input: As for `Interpreter`; `bindings` also name the actors.
        clock: The wall clock by default; a SimulatedClock moves by `advance` alone.
        session: The tree it belongs to; a new one by default (then `run`, `journal` and `log` configure it).
        snapshot: Go on from there instead of starting (`actor.snapshot()`).
        inbox_limit: Events that may wait, before `send` raises InboxFull.
    """

    def __init__(
        self,
        chart: Chart,
        bindings: Bindings | None = None,
        *,
        input: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
        session: Session | None = None,
        run: str | None = None,
        journal: Journal | None = None,
        log: LogWriter | None = None,
        system_id: str | None = None,
        snapshot: Mapping[str, Any] | None = None,
        inbox_limit: int = INBOX_LIMIT,
        path: str = "root",
        parent: _Parent | None = None,
    ) -> None:
        self.interpreter = Interpreter(chart, bindings, input=input, clock=WallClock() if clock is None else clock)
        self.session = session or Session(run=run, journal=journal, log=log)
        self.path = path
        self.system_id = system_id
        self._parent = parent
        self._snapshot = snapshot
        self._children: Mapping[str, Any] = {} if snapshot is None else snapshot.get("children", {})
        self._inbox: deque[Callable[[], object]] = deque()
        self._inbox_limit = inbox_limit
        self._wake = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()
        self._invocations = Invocations(self)
        self._waiters: list[_Waiter] = []
        self._requests: dict[int, asyncio.Future[Step]] = {}
        self._listeners: list[StepListener] = []
        self._emit_listeners: list[EmitListener] = []
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._is_stopping = False
        self._error: BaseException | None = None

    # ------------------------------------------------------------ life

    async def __aenter__(self) -> Actor:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def start(self) -> None:
        """Begin to run, in the current loop; a second call does nothing."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._main(), name=f"actor {self.path}")

    async def stop(self) -> None:
        """End the actor and everything it invoked; waits until they have ended. The machine keeps its state."""
        self._is_stopping = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def run(self) -> Any:
        """Run to the end; the machine's output.

        Raises:
            ActorCrashed: The machine raised.
            ActorStopped: It was stopped first.
        """
        self.start()
        try:
            await self._ended.wait()
        except asyncio.CancelledError:
            await self.stop()
            raise
        if self._error is not None:
            raise ActorCrashed(self.path, self._error) from self._error
        if not self.interpreter.final:
            raise ActorStopped(self.path, "finishing", self.configuration)
        return self.interpreter.output

    async def _main(self) -> None:
        self.session.register(self)
        try:
            await self._loop()
        except Exception as error:  # noqa: BLE001 - the machine's, the journal's or an observer's: `run` raises it
            self._error = error
        finally:
            await self._close()

    async def _close(self) -> None:
        await self._invocations.close()
        self._publish_end()
        self.session.forget(self)
        self._ended.set()
        for waiter in self._waiters:
            if not waiter.future.done():
                waiter.future.set_result(None)
        for request in self._requests.values():
            if not request.done():
                request.set_exception(ActorStopped(self.path, "taking the event", self.configuration))
        if self._parent is None:
            self.session.stream.close()

    def _publish_end(self) -> None:
        if self._error is not None:
            self.session.stream.publish("crashed", self.path, self.now(), error=str(self._error))
        elif self.interpreter.final:
            self.session.stream.publish("done", self.path, self.now(), output=thaw(self.interpreter.output))
        else:
            self.session.stream.publish("stopped", self.path, self.now(), configuration=self.configuration)

    # ------------------------------------------------------------ the loop

    async def _loop(self) -> None:
        await self._begin()
        while not self._is_stopping and self._error is None and not self.interpreter.final:
            step = self.interpreter.execute_once()
            if step is not None:
                await self._commit(step)
            elif self._inbox:
                self._inbox.popleft()()
            else:
                await self._sleep()

    async def _begin(self) -> None:
        interpreter = self.interpreter
        if self._snapshot is not None:
            step = interpreter.restore({**self._snapshot, "children": {}})
            self._introduce()
            if step.effects:
                await self._commit(step)
            self._check_waiters()
        if not interpreter.is_started:
            step = interpreter.start()
            self._introduce()
            await self._commit(step)

    def _introduce(self) -> None:
        chart = self.interpreter.chart
        self.session.stream.publish(
            "actor",
            self.path,
            self.now(),
            chart=chart.name,
            chart_hash=chart.hash,
            configuration=self.configuration,
            context=thaw(dict(self.interpreter.context)),
        )

    async def _commit(self, step: Step) -> None:
        row = await self.session.commit(self, step)
        for effect in step.effects:
            self._begin_effect(effect)
        for listener in tuple(self._listeners):
            listener(step)
        self._answer(step)
        self._check_waiters()
        if self._parent is None and row % CHECKPOINT_EVERY == 0:
            await self.session.journal.checkpoint(self.session.run, row, self.snapshot())

    async def _sleep(self) -> None:
        """Wait for an event or for what is due next."""
        self._drained.set()
        due = self.interpreter.next_due()
        clock = self.interpreter.clock
        timeout: float | None = None
        if due is not None and not isinstance(clock, SimulatedClock):
            timeout = max(due - clock.time, 0.0)
        try:
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    # ------------------------------------------------------------ effects

    def _begin_effect(self, effect: Effect) -> None:
        match effect:
            case StartInvocation():
                self._invocations.start(effect)
            case StopInvocation(id, number):
                self._invocations.stop(id, number)
            case SendTo(to, event, data):
                self._send_to(to, event, data)
            case EmitEvent(event, data):
                self.emitted(event, data)
            case LogLine(message, level, data):
                self.session.log(self, message, level, data)
            case _:
                assert_never(effect)

    def _send_to(self, to: str, event: str, data: Mapping[str, Any]) -> None:
        if to == "parent" and self._parent is not None:
            self._parent.actor.deliver(self._parent.id, self._parent.number, event, data)
            return
        target = self._invocations.child(to) or self.session.actors.get(to)
        if target is not None:
            target.put(event, data)
            return
        self.session.stream.publish("undelivered", self.path, self.now(), to=to, event=event)
        if to == "parent":  # a machine that runs on its own has none, which is no failure
            return
        error = {"to": to, "event": event, "message": f"no actor {to!r} is running"}
        self._enqueue(lambda: self.interpreter.queue(make_event("error.communication", error)))

    def emitted(self, event: str, data: Mapping[str, Any], source: str | None = None) -> None:
        """Tell observers of an emitted event."""
        fields = {} if source is None else {"source": source}
        self.session.stream.publish("emit", self.path, self.now(), event=event, data=thaw(data), **fields)
        for listener in tuple(self._emit_listeners):
            listener(event, data)

    def make_child(self, effect: StartInvocation, machine: ChildMachine) -> Actor:
        """A child machine for an invocation; one that is resumed goes on from its snapshot inside ours."""
        snapshot = self._children.get(effect.id) if effect.is_resumed else None
        return Actor(
            machine.chart,
            machine.bindings,
            input=machine.input,
            clock=self.interpreter.clock,
            session=self.session,
            snapshot=snapshot,
            path=f"{self.path}/{effect.id}",
            parent=_Parent(self, effect.id, effect.number),
        )

    # ------------------------------------------------------------ what comes in

    def send(self, name: str, /, **data: Any) -> None:
        """Queue an event; it is processed in its turn.

        Raises:
            InboxFull: Too many are waiting.
            NotJsonError: The payload is not JSON.
        """
        self.put(name, data)

    def put(self, name: str, data: Mapping[str, Any]) -> None:
        """`send` for payloads whose field names are not known beforehand."""
        if len(self._inbox) >= self._inbox_limit:
            raise InboxFull(self.path, self._inbox_limit)
        event = make_event(name, freeze(data, name))
        self._enqueue(lambda: self.interpreter.queue(event))

    async def request(self, name: str, /, **data: Any) -> Step:
        """Send an event and wait for the step that consumes it; its `receipt` says what became of it.

        Raises:
            ActorStopped: The actor ended first.
        """
        if self._ended.is_set():
            raise ActorStopped(self.path, f"taking {name!r}", self.configuration)
        event = make_event(name, freeze(data, name))
        future: asyncio.Future[Step] = asyncio.get_running_loop().create_future()
        self._requests[id(event)] = future
        self._enqueue(lambda: self.interpreter.queue(event))
        try:
            return await future
        finally:
            self._requests.pop(id(event), None)

    def _answer(self, step: Step) -> None:
        if self._requests and step.steps and (event := step.steps[0].event) is not None:
            future = self._requests.get(id(event))
            if future is not None and not future.done():
                future.set_result(step)

    def deliver(self, id: str, number: int, event: str, data: Mapping[str, Any]) -> None:
        """Queue an event from an invoked actor."""
        self._enqueue(lambda: self.interpreter.deliver(id, number, event, data))

    def completed(self, id: str, number: int, output: Any) -> None:
        """An invoked actor has finished."""
        self._enqueue(lambda: self.interpreter.complete_invocation(id, number, output))

    def failed(self, id: str, number: int, error: Mapping[str, Any]) -> None:
        """An invoked actor has failed."""
        self._enqueue(lambda: self.interpreter.fail_invocation(id, number, error))

    def crash(self, error: BaseException) -> None:
        """Something of ours raised outside a step: the actor ends with that error."""
        if self._error is None:
            self._error = error
        self._wake.set()

    def _enqueue(self, action: Callable[[], object]) -> None:
        self._inbox.append(action)
        self._drained.clear()
        self._wake.set()

    async def room(self) -> None:
        """Wait until the inbox has room: iterators are slowed down to the machine's pace."""
        while len(self._inbox) >= self._inbox_limit // 2 and not self._ended.is_set():
            self._drained.clear()
            await self._drained.wait()

    async def advance(self, seconds: float) -> None:
        """Move a simulated clock, letting everything that becomes due happen in order.

        Raises:
            TypeError: The clock is not a simulated one.
        """
        clock = self.interpreter.clock
        if not isinstance(clock, SimulatedClock):
            raise TypeError(f"advance needs a SimulatedClock, found {type(clock).__name__}")
        end = clock.time + seconds
        await self.settle()
        while (due := self.next_due()) is not None and due <= end:
            clock.time = max(due, clock.time)
            self._wake_tree()
            await self.settle()
        clock.time = end
        self._wake_tree()
        await self.settle()

    def next_due(self) -> float | None:
        """When something will happen by itself in this actor or below it, in seconds of the clock."""
        found = [self.interpreter.next_due(), *(c.next_due() for c in self._invocations.children.values())]
        return min((due for due in found if due is not None), default=None)

    def _wake_tree(self) -> None:
        self._wake.set()
        for child in self._invocations.children.values():
            child._wake_tree()

    async def settle(self) -> None:
        """Let the loop run until this actor and its children have nothing to do (real I/O is not waited for)."""
        for _ in range(3):
            while self._inbox or self._wake.is_set():
                if self._ended.is_set():
                    return
                await asyncio.sleep(0)
            for _ in range(5):
                await asyncio.sleep(0)
            for child in tuple(self._invocations.children.values()):
                await child.settle()

    # ------------------------------------------------------------ what can be seen

    @property
    def configuration(self) -> tuple[str, ...]:
        """Active states, by depth, then by name."""
        return tuple(self.interpreter.configuration)

    @property
    def context(self) -> Mapping[str, Any]:
        """The machine's context, live and read-only."""
        return self.interpreter.context

    @property
    def output(self) -> Any:
        """The machine's output, once it has finished."""
        return self.interpreter.output

    @property
    def is_ended(self) -> bool:
        """Whether it has finished, crashed or been stopped."""
        return self._ended.is_set()

    @property
    def error(self) -> BaseException | None:
        """What it crashed with."""
        return self._error

    @property
    def children(self) -> Mapping[str, Actor]:
        """Running child machines by invocation id."""
        return self._invocations.children

    def now(self) -> float:
        """Seconds on the actor's clock."""
        return self.interpreter.clock.time

    def matches(self, state: str) -> bool:
        return self.interpreter.matches(state)

    def has_tag(self, tag: str) -> bool:
        """Whether an active state has the tag."""
        return tag in self.interpreter.tags

    async def wait_for(
        self,
        state: str | Callable[[Actor], bool] | None = None,
        *,
        tag: str | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Wait until a state or a tag is active, or until a condition of the actor holds after a step.

        Raises:
            WaitTimeout: Not within `timeout_s` seconds of real time.
            ActorStopped: The actor ended without it.
            ActorCrashed: The machine raised.
            ValueError: The chart has no such state.
        """
        wanted, holds = self._condition(state, tag)
        if holds(self) and self.interpreter.is_started:
            return
        waiter = _Waiter(holds, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        try:
            if not self._ended.is_set():
                async with asyncio.timeout(timeout_s):
                    await waiter.future
        except TimeoutError:
            raise WaitTimeout(self.path, wanted, timeout_s or 0, self.configuration) from None
        finally:
            self._waiters.remove(waiter)
        if (waiter.future.done() and not self._ended.is_set()) or holds(self):
            return
        if self._error is not None:
            raise ActorCrashed(self.path, self._error) from self._error
        raise ActorStopped(self.path, wanted, self.configuration)

    def _condition(
        self, state: str | Callable[[Actor], bool] | None, tag: str | None
    ) -> tuple[str, Callable[[Actor], bool]]:
        if tag is not None:
            return f"tag {tag!r}", lambda actor: actor.has_tag(tag)
        if isinstance(state, str):
            name = state
            if name not in self.interpreter.chart:
                known = ", ".join(repr(known.name) for known in self.interpreter.chart)
                raise ValueError(f"chart {self.interpreter.chart.name!r} has no state {name!r}; states: {known}")
            return f"state {name!r}", lambda actor: actor.matches(name)
        if state is not None:
            return "the condition", state
        return "the end", lambda actor: actor.interpreter.final

    def _check_waiters(self) -> None:
        for waiter in self._waiters:
            if not waiter.future.done() and waiter.holds(self):
                waiter.future.set_result(None)

    def subscribe(self, listener: StepListener) -> Callable[[], None]:
        """Call `listener` with every committed step of this actor; returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def on_emit(self, listener: EmitListener) -> Callable[[], None]:
        """Call `listener` with every event that this actor emits; returns what ends it."""
        self._emit_listeners.append(listener)
        return lambda: self._emit_listeners.remove(listener) if listener in self._emit_listeners else None

    def inspect(self, listener: Callable[[InspectionEvent], None]) -> Callable[[], None]:
        """Call `listener` with every event of the whole tree's inspection stream; returns what ends it."""
        return self.session.stream.subscribe(listener)

    def snapshot(self) -> dict[str, Any]:
        """The whole tree as one JSON object: this machine, and its children inside it. What waits in the inbox is
        part of it.

        Raises:
            SnapshotError: A trusted context is not JSON.
        """
        while self._inbox:
            self._inbox.popleft()()
        snapshot = self.interpreter.snapshot()
        snapshot["children"] = {id: child.snapshot() for id, child in sorted(self.children.items())}
        return snapshot

    def __repr__(self) -> str:
        return f"Actor({self.path!r}, {self.interpreter!r})"
