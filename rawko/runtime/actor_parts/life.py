"""Start and end of an actor: it is started as a task of the loop, and then finishes, crashes or is stopped.

`cycle` runs the steps in between. A crash is reported once: to the first caller who waits for the end, or reads
`error`.
"""

from __future__ import annotations

import asyncio

from rawko.interpreter.data.values import thaw
from rawko.runtime.actor_parts.cancellation import is_cancelled, leave_to_the_loop
from rawko.runtime.actor_parts.cycle import Cycle
from rawko.runtime.actor_parts.members import Member
from rawko.runtime.durable import ActorLock
from rawko.runtime.errors import ActorCrashed, ActorStopped, JournalError


class Life:
    """The start and end of one actor.

    Attributes:
        is_ended: Whether it has finished, crashed or been stopped. An attribute, since it is read for each event.
        lock: Of its id in a journal, held while it runs; None without its own journal.
        task: The task that runs it; None before the start.
        is_error_reported: Whether a caller has read or caught the error that it crashed with.
    """

    def __init__(self, owner: Member, cycle: Cycle, lock: ActorLock | None) -> None:
        self._owner = owner
        self._cycle = cycle
        self._end = asyncio.Event()
        self.is_ended = False
        self.lock = lock
        self.task: asyncio.Task[None] | None = None
        self.is_error_reported = False

    async def acquire_lock(self) -> None:
        """Lock the actor's id, unless it has started.

        Raises:
            ActorExists, ActorInUse, JournalError: See `ActorLock.acquire`.
        """
        if self.lock is not None and self.task is None:
            await self.lock.acquire()

    def start(self) -> None:
        """Start the task in the current loop; a second call does nothing."""
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._run(), name=f"actor {self._owner.path}")

    async def stop(self) -> None:
        """End the actor and all that it invoked, and wait until they have ended."""
        self._cycle.is_stopping = True
        self._cycle.rest.wake()
        if self.task is not None:
            await asyncio.wait([self.task])
        elif self.lock is not None:
            await self.lock.release()

    async def until_finished(self) -> None:
        """Start the actor, and wait until its machine has ended; if the waiting task is cancelled, stop the actor.

        Raises:
            ActorCrashed, ActorStopped: It crashed, or was stopped.
            ActorExists, ActorInUse: Another actor has the id.
        """
        await self.acquire_lock()
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

    def raise_unreported(self) -> None:
        """Raise a crash that no caller has seen, at the end of `async with`.

        Raises:
            ActorCrashed: The actor has crashed, and no caller has read or caught the error.
        """
        if self._cycle.error is not None and not self.is_error_reported:
            raise self.crashed()

    def crashed(self) -> ActorCrashed:
        """The crash as an exception; marks it as reported, so that `async with` does not raise it again."""
        assert self._cycle.error is not None
        self.is_error_reported = True
        crashed = ActorCrashed(self._owner.path, self._cycle.error)
        crashed.__cause__ = self._cycle.error
        return crashed

    def ended_before(self, wanted: str) -> Exception:
        """The error for callers who waited for something that can no longer happen."""
        if self._cycle.error is not None:
            return self.crashed()
        return ActorStopped(self._owner.path, wanted, self._owner.configuration)

    async def _run(self) -> None:
        self._owner.session.register(self._owner)
        try:
            if self.lock is not None:
                await self.lock.acquire()
            await self._cycle.run()
        except (KeyboardInterrupt, SystemExit) as error:
            self._cycle.error = error
            leave_to_the_loop()
            raise
        except BaseException as error:  # of the machine or the journal: raised to callers who wait
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            self._cycle.error = error
        finally:
            await self._close()

    async def _close(self) -> None:
        try:
            await self._cycle.stop_invoked()
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        self._publish_end()
        self.is_ended = True
        self._end.set()
        self._cycle.end(lambda: self.ended_before("taking the event"))
        self._owner.session.forget(self._owner)
        if self.lock is not None:
            try:
                await self.lock.release()
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
