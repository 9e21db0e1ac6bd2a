"""What happens when a macrostep fails: everything as before it, then `error.execution`, or an error for the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from rawko.interpreter.compiled.contracts import condition_text
from rawko.interpreter.data.events import Event, InternalEvent, make_event
from rawko.interpreter.data.steps import MicroStep, Receipt, Step
from rawko.interpreter.errors import (
    ActionError,
    ContractFailed,
    InvariantFailed,
    InvocationError,
    PostconditionFailed,
    PreconditionFailed,
)
from rawko.interpreter.running.operations import Operations, error_data, timeout_id
from rawko.interpreter.running.transaction import MISSING, Failed, Invocation, ListenerFailed

if TYPE_CHECKING:
    from sismic.model import MicroStep as SismicMicroStep

    from rawko.interpreter.compiled.program import Node, Plan, Rows

Marks: TypeAlias = tuple[Any, ...]
"""A machine as it was: see `Recovery._mark`."""

_CONTRACT_ERRORS: dict[str, type[ContractFailed]] = {
    "before": PreconditionFailed,
    "after": PostconditionFailed,
    "always": InvariantFailed,
}


class Recovery(Operations):
    """A machine that can go back to where a macrostep began."""

    if TYPE_CHECKING:  # of the macrostep, which stands one floor higher

        def _select(self, rows: Rows, event: Event | None) -> tuple[int, ...]: ...
        def _microstep(self, plan: Plan, event: Event | None, steps: list[SismicMicroStep]) -> None: ...
        def _stabilise(self, steps: list[SismicMicroStep]) -> None: ...
        def _commit(self, now: float, steps: list[SismicMicroStep], receipt: Receipt | None) -> Step | None: ...

    def _marks_now(self) -> Marks:
        """Where the machine stands; the context is undone from the `Work` of the macrostep."""
        observation = self._observation
        return (
            self._node,
            self._history,
            self._invocations,
            self._number,
            self._seq,
            self._olds,
            self._event,
            None if observation is None else observation.mark(),
        )

    def _mark(self, node: Node | None, history: dict[int, tuple[int, ...]], event: Event) -> Marks:
        """The same, where these three have changed already."""
        observation = self._observation
        return (
            node,
            history,
            self._invocations,
            self._number,
            self._seq,
            self._olds,
            event,
            None if observation is None else observation.mark(),
        )

    def _undo(self, marks: Marks) -> None:
        """Everything as at the marks, but for events that others queued meanwhile."""
        work, self._work = self._work, None
        if work is not None:
            for name, old in reversed(work.undo):
                if old is MISSING:
                    self._fields.pop(name, None)
                else:
                    self._fields[name] = old
        self._node, self._history, self._invocations, self._number, seq, self._olds, self._event, times = marks
        self._seq = max(seq, self._agenda.last_seq())
        self._internal = None
        self._is_done = False
        self._output = None
        if self._observation is not None:
            self._observation.roll_back(times)
            self._observation.rolled_back()

    def _recover(
        self,
        now: float,
        event: Event | None,
        failure: BaseException,
        marks: Marks,
        ended: Invocation | None,
        *,
        is_timeout: bool,
    ) -> Step:
        """Undo; then give the machine `error.execution`, if it handles that here; else the caller gets the error."""
        error = self._error(failure, event) if isinstance(failure, Failed) else None
        self._undo(marks)
        if isinstance(failure, InvocationError) and ended is not None:  # its end was told, and is not told again
            self._forget_invocation(ended)
            self._agenda.cancel(timeout_id(ended.number))
        if error is None or not isinstance(failure, Failed):
            _raise(failure)
        if event is not None and self._node is not None:
            self._event = event  # it stays consumed
        if self._node is not None:
            step = self._try_error_event(now, event, failure, error, ended, is_timeout=is_timeout)
            if step is not None:
                return step
        raise error from _cause(failure)

    def _try_error_event(
        self,
        now: float,
        event: Event | None,
        failure: Failed,
        error: ActionError,
        ended: Invocation | None,
        *,
        is_timeout: bool,
    ) -> Step | None:
        """The step in which the machine handles the failure itself; None: it does not."""
        node = self._node
        assert node is not None
        rows = self._program.rows(node, self._program.structure.event_key("error.execution"))
        if not rows.rows:
            return None
        marks = self._marks_now()
        self._is_busy = True
        try:
            return self._process_error(now, event, failure, rows, ended, is_timeout=is_timeout)
        except BaseException as second:  # noqa: BLE001 - as above
            self._undo(marks)
            if not isinstance(second, Failed):
                _raise(second)
            error.add_note(f"error.execution was tried, and failed too: {second.where}: {second.message}")
            return None
        finally:
            self._is_busy = False

    def _process_error(
        self,
        now: float,
        event: Event | None,
        failure: Failed,
        rows: Rows,
        ended: Invocation | None,
        *,
        is_timeout: bool,
    ) -> Step | None:
        failed_event = make_event("error.execution", error_data(failure, event), InternalEvent)
        failed_event.at_ms = int(now * 1000)
        node, before = self._node, self._event
        assert node is not None
        self._event = failed_event
        chosen = rows.fixed if rows.fixed is not None else self._select(rows, failed_event)
        if not chosen:
            self._event = before
            return None
        if ended is not None:
            self._end_invocation(ended, is_stopped=is_timeout)
        steps: list[SismicMicroStep] = [] if event is None else [MicroStep(None, event, [])]
        if self._observation is not None:
            self._observation.resumed(now, event)
            self._observation.event_consumed(failed_event)
        self._idle_choice = None
        self._microstep(self._program.plan(node, chosen, self._history), failed_event, steps)
        self._stabilise(steps)
        return self._commit(now, steps, Receipt.FAILED)

    # ------------------------------------------------------------ errors for the caller

    def _guard_failed(self, index: int, error: Exception) -> Failed:
        transition = self._program.structure.transitions[index]
        assert transition.guard is not None
        position = getattr(transition.guard, "position", transition.position)
        where = f"transition {transition.source} -> {', '.join(transition.targets) or '(no target)'}"
        return Failed("guard", where, condition_text(transition.guard), position, error)

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
        context = self._context if self._observation is None else self._observation.context(self._context)
        found.describe(self.configuration, self._sismic_element(failure.element), dict(context))
        return found

    def _sismic_element(self, element: Any) -> Any:
        """The state (by name) or transition (by index) in sismic's model."""
        lowered = self._program.structure.lowered
        if isinstance(element, int):
            return lowered.transitions[element][0]
        return lowered.statechart.state_for(element)


def _cause(failure: Failed) -> BaseException | None:
    return failure.cause if isinstance(failure.cause, BaseException) else None


def _raise(failure: BaseException) -> NoReturn:
    """A listener's error as the listener raised it; anything else as it is."""
    if isinstance(failure, ListenerFailed):
        raise failure.cause from failure.cause.__cause__
    raise failure
