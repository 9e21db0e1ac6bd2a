"""The decisions since the program was launched, from persisted events. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

LAUNCHED: Final = "LAUNCHED"
LAUNCH_FAILED: Final = "LAUNCH_FAILED"
ATTACHED: Final = "ATTACHED"
PROGRAM_GONE: Final = "PROGRAM_GONE"
SCREEN: Final = "SCREEN"
SETTLED: Final = "SETTLED"
DECIDED: Final = "DECIDED"
DEAD_END: Final = "DEAD_END"
STOPPED: Final = "STOPPED"

Event = Mapping[str, Any]


class KeptTrail:
    """The trail, updated as events are persisted; implements `ports.Trail`."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._decisions: list[Event] = []
        self.add(events)

    def add(self, events: Iterable[Event]) -> None:
        """Apply the events of one attempt: launches and dead ends cut the trail, typed decisions extend it."""
        for event in events:
            match event["type"]:
                case "LAUNCHED":
                    del self._decisions[event["replayed"] :]
                case "DECIDED" if event["decision"]["action"] == "keys":
                    self._decisions.append(event)
                case "DEAD_END":
                    del self._decisions[event["kept"] :]

    def decisions(self) -> Sequence[Event]:
        """DECIDED events that typed something, oldest first; they lead to the program's current screen."""
        return tuple(self._decisions)
