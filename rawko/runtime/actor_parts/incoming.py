"""What reaches a machine from outside of its steps: events, results of what it invoked, news of the runtime's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rawko.interpreter.data.events import Event, make_event
from rawko.interpreter.running.interpreter import Interpreter
from rawko.runtime.actor_parts.inbox import Inbox


class Incoming:
    """Puts calls into a machine's inbox, in the order in which they come.

    Args:
        wake: Called whenever there is something new to look at.
    """

    def __init__(self, interpreter: Interpreter, inbox: Inbox, wake: Callable[[], None]) -> None:
        self._interpreter = interpreter
        self._inbox = inbox
        self._wake = wake
        self._hears_late = interpreter.chart.errors == "scxml"
        self._ends_heard: set[int] = set()

    def queue(self, event: Event) -> None:
        """Queue an event from outside."""
        self._enqueue(lambda: self._interpreter.queue(event))

    def deliver(self, id: str, number: int, event: str, data: Mapping[str, Any]) -> None:
        """Queue an event from an invoked actor."""
        if not self._hears_late:
            self._enqueue(lambda: self._interpreter.deliver(id, number, event, data))
        elif self.invokes(id, number):
            self._enqueue(lambda: self._interpreter.deliver(id, number, event, data, was_running=True))

    def completed(self, id: str, number: int, output: Any) -> None:
        """An invoked actor has finished."""
        if not self._hears_late:
            self._enqueue(lambda: self._interpreter.complete_invocation(id, number, output))
        elif self._is_end_new(id, number):
            self._enqueue(lambda: self._interpreter.complete_invocation(id, number, output, was_running=True))

    def failed(self, id: str, number: int, error: Mapping[str, Any]) -> None:
        """An invoked actor has failed."""
        if not self._hears_late:
            self._enqueue(lambda: self._interpreter.fail_invocation(id, number, error))
        elif self._is_end_new(id, number):
            self._enqueue(lambda: self._interpreter.fail_invocation(id, number, error, was_running=True))

    def _is_end_new(self, id: str, number: int) -> bool:
        """SCXML hears what came while an actor was running, even if its state was left meanwhile; its end once."""
        if number in self._ends_heard or not self.invokes(id, number):
            return False
        self._ends_heard.add(number)
        return True

    def tell(self, event: str, data: Mapping[str, Any]) -> None:
        """Queue an event of the runtime's own, whatever the inbox's bound."""
        self.queue(make_event(event, data))

    def tell_first(self, event: str, data: Mapping[str, Any]) -> None:
        """As `tell`, before everything that waits: where errors are events, they are internal ones."""
        made = make_event(event, data)
        self._enqueue(lambda: self._interpreter.queue_first(made))

    def invokes(self, id: str, number: int) -> bool:
        """Whether that very invocation is running."""
        invocation = self._interpreter.invocations.get(id)
        return invocation is not None and invocation.number == number

    def require_room(self) -> None:
        """Refuse to queue above the inbox's bound.

        Raises:
            InboxFull: Too many events are waiting.
        """
        self._inbox.require_room()

    async def room(self) -> None:
        """Wait until the inbox has room: iterators are slowed down to the machine's pace."""
        await self._inbox.room()

    def _enqueue(self, action: Callable[[], object]) -> None:
        if not self._inbox.is_closed:
            self._inbox.put(action)
            self._wake()
