"""`Step` and `MicroStep`: sismic's MacroStep and MicroStep, with the receipt, the updates and the effects as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sismic.model import MacroStep, Transition
from sismic.model import MicroStep as SismicMicroStep

from rawko.interpreter.data.effects import Effect
from rawko.interpreter.data.receipt import Receipt
from rawko.interpreter.data.updates import Update

__all__ = ["MicroStep", "Receipt", "Step"]

if TYPE_CHECKING:
    from rawko.interpreter.compiled.tables import Node, Plan
    from rawko.interpreter.data.events import Event


class MicroStep(SismicMicroStep):
    """One set of transitions taken together.

    Attributes:
        plan: The plan that was carried out; None if there was none, as for an event that no transition takes.
        transitions: All of the set, in sismic's model; `transition` is the first.
        event: The event that triggered the set; None for eventless transitions.
        indexes: Indexes of the transitions in the chart.
        entered_states, exited_states: Names, in the order of entry and of exit.
        sent_events: Events that its code sent or raised.
    """

    # Attributes that follow from the plan are computed when they are read: most steps are never inspected.
    __slots__ = ("plan",)

    def __init__(self, plan: Plan | None, event: Event | None, sent_events: list[Any]) -> None:
        self.plan = plan
        self.event = event
        self.sent_events = sent_events

    @property
    def transitions(self) -> list[Transition]:
        plan, event = self.plan, self.event
        if plan is None:
            return []
        name = None if event is None else event.name
        return [plan.structure.sismic_transition(t, name) for t in plan.outline.transitions]

    @property
    def indexes(self) -> tuple[int, ...]:
        return () if self.plan is None else tuple(self.plan.outline.transitions)

    @property
    def transition(self) -> Transition | None:  # type: ignore[override]
        plan, event = self.plan, self.event
        if plan is None or not plan.outline.transitions:
            return None
        return plan.structure.sismic_transition(plan.outline.transitions[0], None if event is None else event.name)

    @property
    def entered_states(self) -> list[str]:  # type: ignore[override]
        return [] if self.plan is None else self.plan.entered

    @property
    def exited_states(self) -> list[str]:  # type: ignore[override]
        return [] if self.plan is None else self.plan.exited


class Step(MacroStep):
    """One macrostep, from one stable configuration to the next.

    Attributes:
        receipt: Outcome of the event; None if there was none (the start, eventless steps).
        updates: Changes of the context, in order, with frozen values.
        effects: The work that the runtime must do now, in order.
        node: The configuration at the end, as a `Node` of the program; None if the machine has not started.
        following: Macrosteps that ran after this one within the same `send`, for events the machine sent itself.
    """

    # Most steps are one microstep whose details are never read: `_steps` is made from `_plan` and `_event` when it is
    # first read.
    __slots__ = ("_event", "_plan", "effects", "following", "node", "receipt", "updates")

    _plan: Plan
    _event: Event

    if TYPE_CHECKING:  # sismic's properties, which have no annotations

        @property
        def event(self) -> Event | None: ...

        @property
        def time(self) -> float: ...

        @property
        def entered_states(self) -> list[str]: ...

        @property
        def exited_states(self) -> list[str]: ...

        @property
        def transitions(self) -> list[Transition]: ...

        @property
        def sent_events(self) -> list[Any]: ...

    def __init__(
        self,
        time: float,
        steps: list[Any],
        receipt: Receipt | None = None,
        updates: tuple[Update, ...] = (),
        effects: tuple[Effect, ...] = (),
        node: Node | None = None,
    ) -> None:
        self._time = time
        self._steps = steps
        self.receipt = receipt
        self.updates = updates
        self.effects = effects
        self.following: tuple[Step, ...] = ()
        self.node = node

    def __getattr__(self, name: str) -> Any:
        if name != "_steps":
            raise AttributeError(f"a step has no attribute {name!r}")
        steps: list[Any] = [MicroStep(self._plan, self._event, [])]
        self._steps = steps
        return steps

    @property
    def steps(self) -> list[MicroStep]:  # type: ignore[override]
        """The microsteps, in order."""
        return self._steps  # type: ignore[return-value]  # nothing else is ever put there

    @property
    def configuration(self) -> tuple[str, ...]:
        """Active states at the end, by depth and name."""
        return () if self.node is None else self.node.names


class TakenStep(Step):
    """The step of one plan that an event triggered, as most steps are: what follows from the plan is not stored.

    `TakenStep()` has no values yet, and costs a third of `Step(...)`; see `taken_step`.
    """

    __slots__ = ()
    __init__ = object.__init__
    receipt = Receipt.TAKEN
    effects = ()

    @property
    def node(self) -> Node:  # type: ignore[override]
        return self._plan.target


def taken_step(time: float, plan: Plan, event: Event, updates: tuple[Update, ...]) -> Step:
    """The step of one plan that an event triggered, built in a third of the time of `Step(...)`."""
    step: Step = TakenStep()
    step._time = time
    step._plan = plan
    step._event = event
    step.updates = updates
    step.following = ()
    return step
