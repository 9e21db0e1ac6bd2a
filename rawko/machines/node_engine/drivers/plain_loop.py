"""The plain loop: a driver without a statechart, kept as the reference that the machine is compared with (C-66).

The loop shares `walk`, `decide` and `notes` with the machine; it has code of its own for the order of steps, for waits,
stops and failures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from copy import deepcopy
from typing import Any, NoReturn, TypeAlias, TypeVar, assert_never

from rawko.interpreter.clocks import Clock, WallClock
from rawko.machines.node_engine import notes, walk
from rawko.machines.node_engine import ports as calls
from rawko.machines.node_engine.context import (
    OUT_OF_TIME,
    REQUESTED,
    Ending,
    FailureReason,
    NodeEngineContext,
    RunReport,
    RunState,
    state_of,
)
from rawko.machines.node_engine.decide import Decision, decide, is_way_back, planned_delay_ms, target_of
from rawko.machines.node_engine.drivers.setup import RunSetup
from rawko.machines.node_engine.inputs import interruption
from rawko.runtime.actor_kinds import ActorFailed
from rawko.runtime.session import write_log

STOP_DEADLINE_S = 20.0
"""Seconds that a stopped attempt may take to end."""

T = TypeVar("T")
SleepUntil: TypeAlias = Callable[[float], Awaitable[None]]


class _Ended(Exception):
    """Raised inside the loop when the run has ended."""

    def __init__(self, outcome: Ending) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class _Interrupted(Exception):
    """The call was interrupted because the run was asked to stop."""


class AgentRunner:
    """Drives one run in a loop.

    Args:
        clock: Gives the time, in seconds.
        sleep_until: Sleeps until a time of that clock.
    """

    def __init__(self, setup: RunSetup, *, clock: Clock | None = None, sleep_until: SleepUntil | None = None) -> None:
        self._ports = setup.ports
        self._observe = setup.observe
        self._log = write_log if setup.log is None else setup.log
        self._context = NodeEngineContext.model_validate(setup.input.to_json())
        self._clock = WallClock() if clock is None else clock
        self._sleep_until = sleep_until or self._sleep
        self._queued_notes: list[tuple[notes.Note, Mapping[str, Any]]] = []
        self._task: asyncio.Task[Any] | None = None
        self._interrupted: asyncio.Future[None] | None = None

    def stop(self, reason: str = REQUESTED) -> None:
        """Ask the run to stop; the first reason counts."""
        if self._context.stop_reason is None:
            self._assign(stop_reason=reason or REQUESTED)
            if self._task is not None and self._interrupted is not None and self._task.cancel():
                self._interrupted.set_result(None)

    async def run(self) -> RunReport:
        """Run to the end; returns the report."""
        try:
            await self._walk()
        except _Ended as ended:
            return self._end(ended.outcome)

    async def _walk(self) -> NoReturn:
        if walk.missing_input(self._context):
            self._assign(reason="missing_input", error=notes.input_failure(self._context))
            raise _Ended("failed")
        self._assign(**walk.started(self._context, self._now_ms()))
        self._tell(notes.run_started(self._context))
        if self._context.result is not None:  # resumed: this attempt was persisted, but not yet decided on
            await self._report()
            await self._follow(decide(self._context))
        while True:
            await self._check()
            await self._attempt()
            await self._persist()
            await self._report()
            await self._follow(decide(self._context))

    # ------------------------------------------------------------ one round

    async def _check(self) -> None:
        """End the run if it was asked to stop, a budget is used up, or `should_stop` says so (C-62)."""
        if self._context.stop_reason is not None:
            raise _Ended("stopped")
        await self._look()

    async def _look(self) -> None:
        """End the run if a budget is used up or `should_stop` says so."""
        spent = walk.spent_budget(self._context, self._now_ms())
        if spent is not None:
            self._stop_by(spent)
        try:
            verdict = await self._interruptibly(calls.should_stop(self._ports), self._call_timeout_s)
        except _Interrupted:
            raise _Ended("stopped") from None
        except ActorFailed as error:
            raise self._failed_call("check_failed", error) from error
        if verdict.stop:
            self._stop_by(verdict.reason or REQUESTED)

    async def _attempt(self) -> None:
        self._assign(**walk.begun(self._context))
        self._tell(notes.attempt_started(self._context))
        context = self._context
        bound_s = walk.attempt_bound_ms(context, self._now_ms()) / 1000
        attempt = calls.run_once(self._ports, self._state(), deepcopy(context.ctx), context.seed)
        try:
            result = await self._interruptibly(attempt, bound_s)
        except _Interrupted:
            await self._close()
            raise _Ended("stopped") from None
        except ActorFailed as error:
            if walk.is_out_of_time(self._context, self._now_ms()):
                self._assign(stop_reason=self._context.stop_reason or OUT_OF_TIME)
                await self._close()
                raise _Ended("stopped") from error
            ended = self._failed_call("engine_error", error)
            await self._close()
            raise ended from error
        self._assign(**walk.attempted(self._context, result))
        self._tell(notes.attempt_done(self._context, result))

    async def _persist(self) -> None:
        result = self._context.result
        assert result is not None
        if "on_persist" not in self._context.callbacks:
            return
        await self._write(
            "persist_failed", calls.on_persist(self._ports, self._state(), result.events, self._context.node_name)
        )

    async def _report(self) -> None:
        assert self._context.result is not None
        if "on_attempt" in self._context.callbacks:
            await self._write("report_failed", calls.on_attempt(self._ports, self._context.result))

    async def _close(self) -> None:
        """Persist that the attempt ends without a result; the run ends even if that fails."""
        self._tell(notes.attempt_interrupted(self._context))
        if "on_persist" not in self._context.callbacks:
            return
        events = [interruption(self._context)]
        writing = calls.on_persist(self._ports, self._state(), events, self._context.node_name)
        try:
            await self._bounded(writing, self._call_timeout_s)
        except ActorFailed as error:
            failure = notes.call_failure(self._context, error.error, "persist_failed")
            self._write_log("error", f"on_persist failed: {failure.message}", notes.log_fields(self._context))

    async def _write(self, reason: FailureReason, writing: Coroutine[Any, Any, None]) -> None:
        """Await a callback to its end, even if the run is asked to stop meanwhile."""
        try:
            await self._bounded(writing, self._call_timeout_s)
        except ActorFailed as error:
            raise self._failed_call(reason, error) from error

    # ------------------------------------------------------------ what follows

    async def _follow(self, decision: Decision) -> None:
        match decision:
            case "retry":
                self._assign(**walk.retried(self._context))
                await self._wait()
            case "wait_and_go_on":
                self._take_way()
                await self._wait()
            case "transition" | "backtrack":
                self._take_way()
            case "finish":
                raise _Ended("finished")
            case "backtrack_limit":
                self._assign(reason=decision, error=notes.backtracking_failure(self._context))
                raise _Ended("failed")
            case "fail_node":
                self._assign(reason="node_failed", error=notes.node_failure(self._context))
                raise _Ended("failed")
            case "fail_undecidable":
                self._assign(reason="undecidable_result", error=notes.undecidable(self._context))
                raise _Ended("failed")
            case _:
                assert_never(decision)

    def _take_way(self) -> None:
        before, result, target = self._context.node_name, self._context.result, target_of(self._context)
        if is_way_back(self._context):
            self._assign(**walk.went_back(self._context, target))
            self._tell(notes.backtracked(before, self._context))
        else:
            is_degraded = result is not None and result.outcome == "FAILURE"
            self._assign(**walk.moved(self._context, target))
            self._tell(notes.transitioned(before, self._context, is_degraded=is_degraded))

    async def _wait(self) -> None:
        """Wait for the next attempt; calls `should_stop` every `check_every_ms` (C-62)."""
        delay_ms = planned_delay_ms(self._context)
        self._tell(notes.retry_scheduled(self._context, delay_ms))
        if self._context.stop_reason is not None:
            raise _Ended("stopped")
        every_s = self._context.check_every_ms / 1000
        due = self._clock.time + delay_ms / 1000
        while (look := self._clock.time + every_s) < due:
            await self._rest_until(look)
            await self._look()
        if due > self._clock.time:
            await self._rest_until(due)

    async def _rest_until(self, time: float) -> None:
        try:
            await self._interruptibly(self._rest(time), None)
        except _Interrupted:
            raise _Ended("stopped") from None

    async def _rest(self, time: float) -> None:
        await self._sleep_until(time)

    async def _sleep(self, time: float) -> None:
        await asyncio.sleep(max(time - self._clock.time, 0))

    # ------------------------------------------------------------ calls with a bound

    async def _interruptibly(self, work: Coroutine[Any, Any, T], bound_s: float | None) -> T:
        """The result of a call that `stop` may interrupt.

        Raises:
            _Interrupted: The run was asked to stop.
            ActorFailed: The call failed, or did not end in time.
        """
        self._tell_now()
        if self._context.stop_reason is not None:  # an observer has just asked to stop
            work.close()
            raise _Interrupted
        self._task = task = asyncio.create_task(work)
        self._interrupted = interrupted = asyncio.get_running_loop().create_future()
        try:
            return await self._result(task, bound_s, interrupted)
        finally:
            self._task = self._interrupted = None

    async def _bounded(self, work: Coroutine[Any, Any, T], bound_s: float) -> T:
        self._tell_now()
        return await self._result(asyncio.create_task(work), bound_s)

    async def _result(
        self, task: asyncio.Task[T], bound_s: float | None, interrupted: asyncio.Future[None] | None = None
    ) -> T:
        waited: set[asyncio.Future[Any]] = {task} if interrupted is None else {task, interrupted}
        try:
            await asyncio.wait(waited, timeout=bound_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_late = not task.done()
            is_interrupted = interrupted is not None and interrupted.done()
            if is_late:  # wait until the task has really ended, as the machine does when it leaves a state
                if not is_interrupted:  # `stop` has cancelled it; a second cancellation would cut its cleanup short
                    task.cancel()
                await asyncio.wait([task], timeout=STOP_DEADLINE_S)
        if is_interrupted:
            raise _Interrupted
        if is_late:
            raise ActorFailed({"category": "timeout", "code": "timeout", "message": "timeout"})
        if task.cancelled():  # it cancelled itself; neither `stop` nor the time bound did
            raise ActorFailed("CancelledError: ")
        return task.result()

    @property
    def _call_timeout_s(self) -> float:
        return self._context.call_timeout_ms / 1000

    # ------------------------------------------------------------ state and words

    def _assign(self, **changes: Any) -> None:
        self._context = self._context.model_copy(update=changes)

    def _state(self) -> RunState:
        """A RunState copied from the context, so that changes by the callee do not reach the context."""
        context = self._context
        own = {"data": deepcopy(context.data), "result": context.result and context.result.model_copy(deep=True)}
        return RunState.model_validate({**state_of(context), **own})

    def _now_ms(self) -> int:
        return int(self._clock.time * 1000)

    def _stop_by(self, reason: str) -> None:
        self._assign(stop_reason=self._context.stop_reason or reason)
        raise _Ended("stopped")

    def _failed_call(self, reason: FailureReason, error: ActorFailed) -> _Ended:
        self._assign(reason=reason, error=notes.call_failure(self._context, error.error, reason))
        return _Ended("failed")

    def _end(self, outcome: Ending) -> RunReport:
        context = self._context
        self._assign(outcome=outcome, reason=context.stop_reason if outcome == "stopped" else context.reason)
        self._tell(notes.run_ended(self._context))
        self._tell_now()
        return RunReport(
            run_id=context.run_id,
            outcome=outcome,
            reason=self._context.reason,
            error=context.error if outcome == "failed" else None,
            state=self._state(),
        )

    def _tell(self, note: notes.Note) -> None:
        """Queue a note; it is reported before the next call, as a machine does. Observers may then ask for a stop, and
        the context already has the changes that the note is about."""
        self._queued_notes.append((note, notes.log_fields(self._context)))

    def _tell_now(self) -> None:
        while self._queued_notes:
            note, fields = self._queued_notes.pop(0)
            if self._observe is not None:
                try:
                    self._observe(note.event, note.data)
                except Exception as error:  # noqa: BLE001 - foreign code; an observer must not end the run
                    self._write_log("error", f"an observer failed: {error!r}", fields)
            self._write_log(note.level, note.message, fields)

    def _write_log(self, level: str, message: str, found: Mapping[str, Any]) -> None:
        fields = {"run": self._context.run_id, **found}
        try:
            self._log(level, message, fields)
        except Exception:  # noqa: BLE001 - foreign code; a log that cannot be written must not stop a run
            return
