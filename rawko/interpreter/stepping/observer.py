"""Protocols of a machine's observer: the calls by which the stepping functions notify and question it.

A machine without listeners, without trusted code, and without contracts that need more than context and event has no
observer: `machine.observer` is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from rawko.interpreter.compiled.functions import CompiledAction
from rawko.interpreter.compiled.tables import Operation, Plan, Rows, Where
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.values import Record


class Evaluator(Protocol):
    """Runs Python code of a trusted chart; called only for plans and guards with code."""

    def guard(self, transition: int, event: Event | None) -> bool:
        """Whether the code of a transition's guard is true."""

    def execute(self, action: CompiledAction, where: Where, event: Event) -> None:
        """Run the code of an action."""

    def value(self, code: str, event: Event) -> Any:
        """The value of an input or output that is code."""


class Undoable(Protocol):
    """State of trusted code outside the machine's own fields; used by recovery, checkpoints and explanations."""

    def mark(self) -> Any:
        """The data that `roll_back` needs to undo the effects of code."""

    def roll_back(self, marks: Any) -> None: ...


class Visible(Protocol):
    """Configuration and context as users see them during a microstep, and with trusted code."""

    def context(self, fields: Record) -> Mapping[str, Any]:
        """The context as users see it: the machine's, or that of trusted code."""

    def live_configuration(self) -> list[str] | None:
        """Names of the active states in mid-step; None between steps."""


class Kept(Protocol):
    """State of the observer that a snapshot stores."""

    def olds(self) -> Mapping[str, Any]:
        """The values of `old` in contracts of active states, by state."""

    def times(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """By state: the times of entry, and the times of the last activity."""

    def restored(self, context: Mapping[str, Any], entry: Mapping[str, float], idle: Mapping[str, float]) -> None: ...

    def restore_olds(self, olds: Mapping[str, Any]) -> None: ...


class IdleWatch(Protocol):
    """Checks that depend on time alone; called between steps."""

    @property
    def looks_when_idle(self) -> bool:
        """Whether invariants or timed guards must be checked although no event is due."""

    def next_timed_guard(self) -> float | None:
        """The earliest time at which a guard that reads the time may become true, in seconds of the clock; None if
        there is none.
        """

    def check_invariants(self, event: Event | None) -> None: ...


class StepWatch(Protocol):
    """Is notified of a macrostep: its beginning, its end, its failure.

    Attributes:
        is_open: A step has begun and not ended.
    """

    is_open: bool

    def step_started(self, now: float) -> None: ...

    def step_ended(self) -> None:
        """Notify listeners of the end of a step, once: the last call that may still fail and undo the step."""

    def step_failed(self) -> None: ...

    def rolled_back(self) -> None: ...

    def resumed(self, now: float, event: Event | None) -> None:
        """The step continues after a failure, with `error.execution`."""

    def event_consumed(self, event: Event) -> None: ...

    def tell(self, plan: Plan, event: Event | None) -> None:
        """Notify listeners of a macrostep that runs no code and that no contract binds."""


class MicrostepWatch(Protocol):
    """Carries out microsteps instead of `run_operations`, and checks contracts."""

    @property
    def is_quiet(self) -> bool:
        """Whether no listener receives this step, and no contract must be checked after each microstep."""

    def binds(self, plan: Plan) -> bool:
        """Whether a contract has a condition on a state or transition of the plan."""

    def chosen(self, rows: Rows, event: Event | None, transitions: tuple[int, ...]) -> None:
        """Notify listeners of the selected transitions, before conflicts are resolved; also if no guard was called."""

    def microstep(self, plan: Plan, event: Event | None) -> None:
        """Carry out the operations of a plan, state by state."""

    def microstep_ended(self, sent: list[Any]) -> None: ...

    def closing(self, state: int, operations: tuple[Operation, ...]) -> None:
        """Run the exit code of a state that stays in the configuration of a machine that has ended."""


class Observer(Evaluator, Undoable, Visible, Kept, IdleWatch, StepWatch, MicrostepWatch, Protocol):
    """The listeners, contracts and code of one machine. A macrostep calls it in this order:

        step_started, event_consumed, (chosen, microstep, microstep_ended) for each microstep, step_ended
        ... or, after a failure: roll_back, rolled_back, and at last step_failed

    Functions that need only one part are annotated with that part's protocol.

    Attributes:
        is_listening_only: There is no trusted code, and no invariant that must be checked after every microstep.
        has_evaluator: Trusted code runs; payloads and contexts may hold any value.
        has_data_model: The code is of SCXML's data model.
    """

    is_listening_only: bool
    has_evaluator: bool
    has_data_model: bool

    @property
    def has_listeners(self) -> bool: ...
