"""An actor's life: begun as a task of the loop, then finished, stopped or crashed; those who wait are told which.

What happens in between is the cycle's. An error is told once: to the first who waits for the end, or who reads it.
"""

from __future__ import annotations

import asyncio

from rawko.interpreter.data.values import thaw
from rawko.runtime.actor_parts.cycle import Cycle
from rawko.runtime.actor_parts.members import Member
from rawko.runtime.durable import Place
from rawko.runtime.errors import ActorCrashed, ActorStopped, JournalError


class Life:
    """The life of one actor.

    Attributes:
        is_ended: Whether it has finished, crashed or been stopped. Asked with every event, hence no call.
        place: Its id in a journal, held while it lives; None without a journal of its own.
        task: What runs it; None before it has begun.
        is_error_told: Whether a caller has read or caught the error that it crashed with.
    """

    def __init__(self, owner: Member, cycle: Cycle, place: Place | None) -> None:
        self._owner = owner
        self._cycle = cycle
        self._end = asyncio.Event()
        self.is_ended = False
        self.place = place
        self.task: asyncio.Task[None] | None = None
        self.is_error_told = False

    async def take_place(self) -> None:
        """Hold its id, unless it has begun.

        Raises:
            ActorExists, ActorInUse, JournalError: See `Place.take`.
        """
        if self.place is not None and self.task is None:
            await self.place.take()

    def start(self) -> None:
        """Begin, in the current loop; a second call does nothing."""
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._run(), name=f"actor {self._owner.path}")

    async def stop(self) -> None:
        """End the actor and all that it invoked, and wait until they have ended."""
        self._cycle.is_stopping = True
        self._cycle.rest.wake()
        if self.task is not None:
            await asyncio.wait([self.task])
        elif self.place is not None:
            await self.place.give_back()

    async def until_finished(self) -> None:
        """Begin, and wait until the machine has finished; one who is cancelled while waiting stops the actor.

        Raises:
            ActorCrashed, ActorStopped: It ended otherwise.
            ActorExists, ActorInUse: Another actor has the id.
        """
        await self.take_place()
        self.start()
        try:
            await self._end.wait()
        except asyncio.CancelledError:
            await self.stop()
            raise
        if self._cycle.error is not None:
            raise self.crashed()
        if not self._owner.interpreter.final:
            raise ActorStopped(self._owner.path, "finishing", self._owner.configuration)

    def raise_untold(self) -> None:
        """At the end of `async with`.

        Raises:
            ActorCrashed: It has crashed, and nothing has told so yet.
        """
        if self._cycle.error is not None and not self.is_error_told:
            raise self.crashed()

    def crashed(self) -> ActorCrashed:
        """The crash as an exception; told once, it is not raised again at the end of `async with`."""
        assert self._cycle.error is not None
        self.is_error_told = True
        crashed = ActorCrashed(self._owner.path, self._cycle.error)
        crashed.__cause__ = self._cycle.error
        return crashed

    def ended_before(self, wanted: str) -> Exception:
        """The error for those who waited in vain for something."""
        if self._cycle.error is not None:
            return self.crashed()
        return ActorStopped(self._owner.path, wanted, self._owner.configuration)

    async def _run(self) -> None:
        self._owner.session.register(self._owner)
        try:
            if self.place is not None:
                await self.place.take()
            await self._cycle.run()
        except Exception as error:  # noqa: BLE001 - the machine's or the journal's: raised to those who wait
            self._cycle.error = error
        finally:
            await self._close()

    async def _close(self) -> None:
        await self._cycle.stop_invoked()
        self._publish_end()
        self.is_ended = True
        self._end.set()
        self._cycle.end(lambda: self.ended_before("taking the event"))
        self._owner.session.forget(self._owner)
        if self.place is not None:
            try:
                await self.place.give_back()
            except JournalError as error:
                message = f"the id is given back when this process ends: {error}"
                self._owner.session.log(self._owner, message, "error", {})

    def _publish_end(self) -> None:
        owner, error = self._owner, self._cycle.error
        publish, path, now = owner.session.stream.publish, owner.path, owner.now()
        if error is not None:
            publish("crashed", path, now, error=str(error))
        elif owner.interpreter.final:
            publish("done", path, now, output=thaw(owner.interpreter.output))
        else:
            publish("stopped", path, now, configuration=owner.configuration)
