"""Passes events and results from outside of a machine's steps to its inbox: sent events, ends of invocations,
failures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rawko.interpreter.data.events import Event, make_event
from rawko.interpreter.running.interpreter import Interpreter
from rawko.runtime.actor_parts.inbox import Call, Inbox


class Incoming:
    """Adds calls to a machine's inbox, in the order of arrival.

    Args:
        wake: Called after each addition.
    """

    def __init__(self, interpreter: Interpreter, inbox: Inbox, wake: Callable[[], None]) -> None:
        self._interpreter = interpreter
        self._inbox = inbox
        self._wake = wake
        self._hears_late = interpreter.chart.errors == "scxml"
        self._ends_heard: set[int] = set()

    def queue(self, event: Event) -> None:
        """Queue an event from outside."""
        self._enqueue(lambda machine: machine.queue(event))

    def deliver(self, id: str, number: int, event: str, data: Mapping[str, Any]) -> None:
        """Queue an event from an invoked actor."""
        if not self._hears_late:
            self._enqueue(lambda machine: machine.deliver(id, number, event, data))
        elif self.invokes(id, number):
            self._enqueue(lambda machine: machine.deliver(id, number, event, data, was_running=True))

    def completed(self, id: str, number: int, output: Any) -> None:
        """Queue the result of an invoked actor."""
        if not self._hears_late:
            self._enqueue(lambda machine: machine.complete_invocation(id, number, output))
        elif self._is_end_new(id, number):
            self._enqueue(lambda machine: machine.complete_invocation(id, number, output, was_running=True))

    def failed(self, id: str, number: int, error: Mapping[str, Any]) -> None:
        """Queue the failure of an invoked actor."""
        if not self._hears_late:
            self._enqueue(lambda machine: machine.fail_invocation(id, number, error))
        elif self._is_end_new(id, number):
            self._enqueue(lambda machine: machine.fail_invocation(id, number, error, was_running=True))

    def _is_end_new(self, id: str, number: int) -> bool:
        """Whether an end must be queued: SCXML accepts events sent while an actor was running, even if its state was
        exited since; its end once.
        """
        if number in self._ends_heard or not self.invokes(id, number):
            return False
        self._ends_heard.add(number)
        return True

    def tell(self, event: str, data: Mapping[str, Any]) -> None:
        """Queue an event of the runtime itself, regardless of the inbox's bound."""
        self.queue(make_event(event, data))

    def tell_first(self, event: str, data: Mapping[str, Any]) -> None:
        """As `tell`, but before all queued events: used where errors are events, which are internal ones."""
        made = make_event(event, data)
        self._enqueue(lambda machine: machine.queue_first(made))

    def invokes(self, id: str, number: int) -> bool:
        """Whether the invocation with this id and number is running."""
        invocation = self._interpreter.invocations.get(id)
        return invocation is not None and invocation.number == number

    def require_room(self) -> None:
        """Refuse an event at the inbox's bound.

        Raises:
            InboxFull: The bound is reached.
        """
        self._inbox.require_room()

    async def room(self) -> None:
        """Wait until the inbox has room, so that iterators yield no faster than the machine steps."""
        await self._inbox.room()

    def _enqueue(self, call: Call) -> None:
        if not self._inbox.is_closed:
            self._inbox.put(call)
            self._wake()
