"""What the functions that move a machine tell of it, and what they ask, where a machine has an observer.

A machine without listeners, without contracts that look at more than context and event, and without trusted code has
no observer: then `machine.observer` is None, and none of this is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from rawko.interpreter.compiled.functions import CompiledAction
from rawko.interpreter.compiled.tables import Operation, Plan, Rows, Where
from rawko.interpreter.data.events import Event
from rawko.interpreter.data.values import Record


class Evaluator(Protocol):
    """Answers for code that a trusted chart holds; asked only where a plan or a guard has code."""

    def guard(self, transition: int, event: Event | None) -> bool:
        """Whether the code of a transition's guard is true."""

    def execute(self, action: CompiledAction, where: Where, event: Event) -> None:
        """Run the code of an action."""

    def value(self, code: str, event: Event) -> Any:
        """What an input or an output comes to."""


class Undoable(Protocol):
    """What code has done outside of the machine's own fields; asked by recovery, checkpoints and explanations."""

    def mark(self) -> Any:
        """What `roll_back` needs to undo what code does."""

    def roll_back(self, marks: Any) -> None: ...


class Visible(Protocol):
    """The machine as people see it in mid-step, and with trusted code."""

    def context(self, fields: Record) -> Mapping[str, Any]:
        """The context as people see it: the machine's, or that of trusted code."""

    def live_configuration(self) -> list[str] | None:
        """Names of the active states in mid-step; None between steps."""


class Kept(Protocol):
    """What a snapshot keeps beside the machine's own fields."""

    def olds(self) -> Mapping[str, Any]:
        """The contexts that `old` stands for in contracts of active states, by state."""

    def times(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """When states were entered, and when something happened in them last."""

    def restored(self, context: Mapping[str, Any], entry: Mapping[str, float], idle: Mapping[str, float]) -> None: ...

    def restore_olds(self, olds: Mapping[str, Any]) -> None: ...


class IdleWatch(Protocol):
    """What may come of time alone; asked between steps."""

    @property
    def looks_when_idle(self) -> bool:
        """Whether something is to be looked at though nothing has happened."""

    def next_timed_guard(self) -> float | None:
        """When a guard that looks at the time may become true by itself, in seconds of the clock."""

    def check_invariants(self, event: Event | None) -> None: ...


class StepWatch(Protocol):
    """Hears of a macrostep as a whole, and of its beginning and end.

    Attributes:
        is_open: A step has begun and not ended.
    """

    is_open: bool

    def step_started(self, now: float) -> None: ...

    def step_ended(self) -> None:
        """Tell the end of a step, once: the last thing that may undo it."""

    def step_failed(self) -> None: ...

    def rolled_back(self) -> None: ...

    def resumed(self, now: float, event: Event | None) -> None:
        """The step goes on after a failure, with `error.execution`."""

    def event_consumed(self, event: Event) -> None: ...

    def tell(self, plan: Plan, event: Event | None) -> None:
        """A whole macrostep that runs no code and that no contract binds."""


class MicrostepWatch(Protocol):
    """Carries out microsteps in place of the plain way, and asks what contracts say of them."""

    @property
    def is_quiet(self) -> bool:
        """Whether no listener hears this step, and nothing has to be asked after each microstep."""

    def binds(self, plan: Plan) -> bool:
        """Whether a contract binds something that the plan leaves, takes or enters."""

    def chosen(self, rows: Rows, event: Event | None, transitions: tuple[int, ...]) -> None:
        """These transitions are to be taken, before conflicts are resolved; also where no guard was asked."""

    def microstep(self, plan: Plan, event: Event | None) -> None:
        """Carry out the operations of a plan, state by state."""

    def microstep_ended(self, sent: list[Any]) -> None: ...

    def closing(self, state: int, operations: tuple[Operation, ...]) -> None:
        """Exit code of a state that stays in the configuration of a finished machine."""


class Observer(Evaluator, Undoable, Visible, Kept, IdleWatch, StepWatch, MicrostepWatch, Protocol):
    """Listeners, contracts and code of one machine. A macrostep calls it in this order:

        step_started, event_consumed, (chosen, microstep, microstep_ended) for each microstep, step_ended
        ... or, after a failure: roll_back, rolled_back, and at last step_failed

    Functions that need one part of it name that part's protocol.

    Attributes:
        is_listening_only: No trusted code, and no invariants, which would have to be asked after every microstep.
        has_evaluator: Trusted code decides; payloads and contexts may hold any value.
        has_data_model: That code is of SCXML's data model.
    """

    is_listening_only: bool
    has_evaluator: bool
    has_data_model: bool

    @property
    def has_listeners(self) -> bool: ...
