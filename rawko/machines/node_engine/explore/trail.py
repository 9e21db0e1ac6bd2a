"""What was done since the program was launched, from the events that were persisted. Pure."""

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
    """The trail, kept up as events are persisted; implements `ports.Trail`."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._decisions: list[Event] = []
        self.add(events)

    def add(self, events: Iterable[Event]) -> None:
        """Take in what one attempt has told."""
        for event in events:
            match event["type"]:
                case "LAUNCHED":
                    del self._decisions[event["replayed"] :]
                case "DECIDED" if event["decision"]["action"] == "keys":
                    self._decisions.append(event)
                case "DEAD_END":
                    del self._decisions[event["kept"] :]

    def decisions(self) -> Sequence[Event]:
        """DECIDED events that typed something, oldest first: they lead to where the program is."""
        return tuple(self._decisions)
