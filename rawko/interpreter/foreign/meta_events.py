"""Meta-events, which sismic's listeners receive. Those with constant content are created once and shared."""

from __future__ import annotations

from typing import Any

from sismic.model import MetaEvent

from rawko.chart.definition import Transition


def meta_event(name: str, data: dict[str, Any]) -> MetaEvent:
    """A meta-event that uses `data` without a copy; `MetaEvent(name, **data)` would copy it twice."""
    event = MetaEvent.__new__(MetaEvent)
    event.name = name
    event.data = data
    return event


class FixedMetaEvent(MetaEvent):
    """A meta-event that many steps send again: read-only, so that no listener changes it for the others.

    Copying or unpickling it gives a plain MetaEvent.
    """

    __slots__ = ("_fixed",)

    def __init__(self, name: str, /, **data: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_fixed", data)

    @property
    def data(self) -> dict[str, Any]:  # type: ignore[override]  # sismic's is an attribute
        return dict(self._fixed)

    def __getattr__(self, attribute: str) -> Any:
        try:
            return self._fixed[attribute]
        except KeyError:
            raise AttributeError(f"{self!r} has no attribute {attribute!r}") from None

    def __setattr__(self, attribute: str, value: Any) -> None:
        raise AttributeError(f"{self!r} is sent to all listeners: make a MetaEvent of your own to change it")

    def __reduce__(self) -> tuple[Any, ...]:
        return meta_event, (self.name, self.data)

    def __repr__(self) -> str:
        return repr(meta_event(self.name, self._fixed))


class _StepEvent(MetaEvent):
    """A meta-event of one step; its fields are attributes, and the dictionary `data` is made only on request."""

    __slots__ = ()

    def __getattr__(self, attribute: str) -> Any:
        try:
            return self.data[attribute]
        except KeyError:
            raise AttributeError(f"{self!r} has no attribute {attribute!r}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return meta_event, (self.name, self.data)

    def __repr__(self) -> str:
        return repr(meta_event(self.name, self.data))


class StepStarted(_StepEvent):
    """`step started`, with the time in seconds."""

    __slots__ = ("time",)
    name = "step started"

    def __init__(self, time: float) -> None:
        self.time = time

    @property
    def data(self) -> dict[str, Any]:  # type: ignore[override]  # sismic's is an attribute
        return {"time": self.time}


class EventConsumed(_StepEvent):
    """`event consumed`, with the event."""

    __slots__ = ("event",)
    name = "event consumed"

    def __init__(self, event: Any) -> None:
        self.event = event

    @property
    def data(self) -> dict[str, Any]:  # type: ignore[override]  # as above
        return {"event": self.event}


class TransitionProcessed(_StepEvent):
    """`transition processed`, with the event, or None."""

    __slots__ = ("_transition", "event")
    name = "transition processed"

    def __init__(self, transition: Transition, event: Any) -> None:
        self._transition = transition
        self.event = event

    @property
    def data(self) -> dict[str, Any]:  # type: ignore[override]  # as above
        targets = list(self._transition.targets)
        target = targets[0] if targets else None
        return {"source": self._transition.source, "target": target, "targets": targets, "event": self.event}


class StateEvents(dict[int, FixedMetaEvent]):
    """The meta-event of one name for each state of a chart, created on first use."""

    def __init__(self, name: str, states: tuple[str, ...]) -> None:
        super().__init__()
        self._name = name
        self._states = states

    def __missing__(self, state: int) -> FixedMetaEvent:
        found = self[state] = FixedMetaEvent(self._name, state=self._states[state])
        return found


STEP_ENDED = FixedMetaEvent("step ended")
STEP_ROLLED_BACK = FixedMetaEvent("step rolled back")
