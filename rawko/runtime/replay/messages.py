"""Messages that the machines of a run have sent each other, and that no row has consumed yet.

The row of a step records what the machine sent; a later row, of the receiver, records that it was consumed. If the
process ends between these two rows, the message is in no queue any more, and replay must deliver it again:

    row 7   root       takes ADD, sends COUNT to kid      COUNT waits for root/kid
    row 8   root       takes ADD, sends COUNT to kid      COUNT, COUNT
    row 9   root/kid   takes COUNT                        COUNT: a resume queues it in root/kid

Which machine is the receiver is decided by `rawko.runtime.replay.replay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rawko.interpreter.data.values import thaw


@dataclass(frozen=True, slots=True)
class Message:
    """A message to a machine.

    Attributes:
        sender: Id and number of the invocation, if a child machine sent it to its parent.
    """

    event: str
    data: Mapping[str, Any]
    sender: tuple[str, int] | None = None


class Messages:
    """The messages that wait for one machine, in the order in which they were sent."""

    def __init__(self) -> None:
        self._waiting: list[Message] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, message: Message, *, is_first: bool = False) -> None:
        """Add a message, after all others by default."""
        self._waiting.insert(0 if is_first else len(self._waiting), message)

    def take(self, event: Mapping[str, Any]) -> bool:
        """A row has consumed this event: drop the message that it was; False if it was none.

        Messages that were sent before it are dropped, too: machines take them in order, so that those were refused (the
        inbox was full, or a monitor objected).
        """
        for place, message in enumerate(self._waiting):
            sender = None if message.sender is None else message.sender[0]
            if message.event == event["name"] and sender == event.get("from") and thaw(message.data) == event["data"]:
                del self._waiting[: place + 1]
                return True
        return False

    def drop_latest(self, event: str) -> None:
        """Drop the latest message of that name: its sender was told that it is undelivered."""
        for place in reversed(range(len(self._waiting))):
            if self._waiting[place].event == event:
                del self._waiting[place]
                return

    def drop_from(self, id: str, number: int) -> None:
        """An invocation was stopped: drop its messages."""
        self._waiting = [message for message in self._waiting if message.sender != (id, number)]

    def queue_in(self, snapshot: dict[str, Any]) -> None:
        """Add the messages to the queue in a snapshot of their machine."""
        if snapshot["done"]:
            return
        queue, seq = snapshot["external"], snapshot["seq"]
        time = max(snapshot["now"], *(queued[0] for queued in queue[-1:]), 0.0)
        for message in self._waiting:
            seq += 1
            kind: Any = "event"
            if message.sender is not None:
                kind = {"id": message.sender[0], "number": message.sender[1], "is_end": False}
            queue.append([time, seq, kind, message.event, thaw(message.data)])
        snapshot["seq"] = seq
