"""Actors that outlive their process: an id in a journal, held by one actor at a time, begun once and then resumed.

What an actor was given to start with is noted in its first row, so that a resume needs its id and the code alone.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.interpreter.clocks import Clock
from rawko.interpreter.running.interpreter import Interpreter
from rawko.runtime.errors import ActorExists, UnknownActor
from rawko.runtime.journal import HoldingJournal, Journal, name_of
from rawko.runtime.replay.recorded import Recorded, read_recorded
from rawko.runtime.replay.replay import ReplayTree

INPUT = "input"
"""The first row's note of what the actor was started with."""


class Enterable(Protocol):
    """An actor, as far as it is entered and left."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def until_begun(self) -> None: ...


A = TypeVar("A", bound=Enterable)


class Resuming(Generic[A]):
    """An actor that is about to go on: await it, or enter it with `async with`. See `Actor.resume`."""

    def __init__(self, go_on: Callable[[], Coroutine[Any, Any, A]]) -> None:
        self._go_on = go_on
        self._actor: A | None = None

    def __await__(self) -> Generator[Any, None, A]:
        return self._go_on().__await__()

    async def __aenter__(self) -> A:
        self._actor = actor = await self._go_on()
        await actor.__aenter__()
        await actor.until_begun()  # so that it can be looked at from here on
        return actor

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._actor is not None
        await self._actor.__aexit__(kind, error, trace)


class Place:
    """The id of an actor in a journal.

    Args:
        is_new: Nothing may be there yet.
    """

    def __init__(self, journal: Journal, id: str, *, is_new: bool) -> None:
        self._journal = journal
        self._id = id
        self._is_new = is_new
        self._is_held = False

    async def take(self) -> None:
        """Hold the id, and make sure that it is free where it is to be new. A second call does nothing.

        Raises:
            ActorInUse: Another actor holds it.
            ActorExists: It was to be new, and is not.
            JournalError: The journal cannot be read.
        """
        if self._is_held:
            return
        if isinstance(self._journal, HoldingJournal):
            await self._journal.hold(self._id)
        self._is_held = True
        if not self._is_new:
            return
        try:
            if steps := await self._journal.last_seq(self._id):
                raise ActorExists(self._id, name_of(self._journal), steps)
        except BaseException:
            await self.give_back()
            raise

    async def give_back(self) -> None:
        """Let others have the id. A second call does nothing."""
        if self._is_held:
            self._is_held = False
            if isinstance(self._journal, HoldingJournal):
                await self._journal.release(self._id)


class Resumable:
    """What is needed to go on with an actor.

    Attributes:
        recorded: What its journal holds.
        input: What it was started with.
        snapshot: The whole tree as of its latest step.
    """

    def __init__(self, recorded: Recorded, input: Mapping[str, Any], snapshot: dict[str, Any]) -> None:
        self.recorded = recorded
        self.input = input
        self.snapshot = snapshot


async def read_resumable(
    journal: Journal, id: str, chart: Chart, bindings: Bindings | None, *, trusted: bool = False
) -> Resumable:
    """Step an actor's recorded steps through again, without starting anything.

    Raises:
        UnknownActor: The journal has no step of it.
        ReplayError: The chart or its functions have changed: a step comes out otherwise than it was recorded.
        JournalError: The journal cannot be read.
    """
    recorded = await read_recorded(journal, id)
    if not recorded.last_seq:
        runs = getattr(journal, "runs", None)
        raise UnknownActor(id, name_of(journal), () if runs is None else await runs())
    first = await journal.rows(id, 0, 1)
    notes = first[0].notes if first else None
    input = (notes or {}).get(INPUT) or {}

    def make(chart: Chart, bindings: Bindings | None, input: Mapping[str, Any] | None, clock: Clock) -> Interpreter:
        return Interpreter.trusting(
            chart, bindings, trusted=trusted and chart.has_code, initial_context=input, clock=clock
        )

    tree = ReplayTree(id, chart, bindings, input, make=make)
    await tree.read(recorded)
    return Resumable(recorded, input, tree.root.snapshot())
