"""The listeners of one interpreter, and the two kinds that sismic has: those that pass events on, and property
statecharts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sismic.exceptions import PropertyStatechartError
from sismic.model import Event as SismicEvent
from sismic.model import MetaEvent

from rawko.interpreter.data.events import Event, InternalEvent
from rawko.interpreter.data.failures import ListenerFailed
from rawko.interpreter.foreign.meta_events import STEP_ROLLED_BACK, StepStarted, meta_event

Listener: TypeAlias = Callable[[MetaEvent], Any]


class Listeners:
    """Those who hear the meta-events of one machine, in the order in which they were attached.

    One that is attached in mid-step hears from the next step on; one that is detached hears nothing more.

    Attributes:
        attached: All of them.
        current: Those of the step that has begun.
    """

    def __init__(self) -> None:
        self.attached: list[Listener] = []
        self.current: tuple[Listener, ...] = ()
        self._properties: tuple[PropertyListener, ...] = ()

    def detach(self, listener: Listener) -> None:
        """Forget a listener, at once.

        Raises:
            ValueError: It is not attached.
        """
        self.attached.remove(listener)
        self.current = tuple(found for found in self.current if found != listener)
        self._properties = tuple(found for found in self._properties if found != listener)

    def begin(self, now: float) -> None:
        """A step begins: nothing is left to be undone, so errors of listeners go to the caller as they are."""
        attached = tuple(self.attached)
        if self.current != attached:
            self.current = attached
            self._properties = tuple(one for one in attached if isinstance(one, PropertyListener))
        for property_ in self._properties:
            property_.mark()
        event = StepStarted(now)
        for listener in attached:
            listener(event)

    def tell(self, event: MetaEvent) -> None:
        """Tell all of them.

        Raises:
            ListenerFailed: One has raised; the step is to be undone.
        """
        for listener in self.current:
            try:
                listener(event)
            except Exception as error:
                raise ListenerFailed(error) from error

    def tell_quietly(self, event: MetaEvent) -> None:
        """Tell all but property statecharts of a step that has failed; its own error must not hide behind another."""
        for listener in self.current:
            if not isinstance(listener, PropertyListener):
                try:
                    listener(event)
                except Exception:  # noqa: BLE001 - the step's own error is on its way to the caller
                    continue

    def roll_back(self) -> None:
        """What they were told has not happened."""
        self.tell_quietly(STEP_ROLLED_BACK)
        for property_ in self._properties:
            property_.reset()

    def resume(self, now: float, event: Event | None) -> None:
        """Tell property statecharts the beginning of the step again, which they forgot."""
        for property_ in self._properties:
            property_(MetaEvent("step started", time=now))
            if event is not None:
                property_(MetaEvent("event consumed", event=event))

    def tell_sent(self, sent: list[Any]) -> None:
        """Tell of events that a microstep has sent, as sismic announces them, so that `bind` passes them on."""
        for event in sent:
            if isinstance(event, MetaEvent):
                self.tell(event)
            else:
                internal = event if isinstance(event, InternalEvent) else _as_internal(event)
                self.tell(meta_event("event sent", {"event": internal}))


def _as_internal(event: SismicEvent) -> InternalEvent:
    internal = InternalEvent.__new__(InternalEvent)
    internal.name, internal.data, internal.at_ms = event.name, event.data, 0
    return internal


class BoundListener:
    """Passes sent events on, as plain sismic events; payloads may have fields of any name."""

    def __init__(self, receive: Callable[[SismicEvent], Any]) -> None:
        self._receive = receive

    def __call__(self, event: MetaEvent) -> None:
        if event.name == "event sent":
            passed = SismicEvent(event.event.name)
            passed.data = dict(event.event.data)
            self._receive(passed)


class PropertyListener:
    """Feeds meta-events to a property statechart, which objects by reaching its final state."""

    def __init__(self, interpreter: Any) -> None:
        self.interpreter = interpreter
        self._mark: Any = None

    def __call__(self, event: MetaEvent) -> None:
        self.interpreter.queue(event)
        self.interpreter.execute()
        if self.interpreter.final:
            raise PropertyStatechartError(self.interpreter)

    def mark(self) -> None:
        """Remember the property's state, so that a rolled back step leaves no trace in it."""
        checkpoint = getattr(self.interpreter, "checkpoint", None)
        self._mark = checkpoint() if checkpoint is not None else None

    def reset(self) -> None:
        """Be as when the step began."""
        if self._mark is not None:
            self.interpreter.roll_back_to(self._mark)
