"""Protocols of an actor and its tree for the parts of an actor, so that no part imports the whole."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

from rawko.interpreter.data.effects import StartInvocation
from rawko.interpreter.data.steps import Step
from rawko.interpreter.running.interpreter import Interpreter
from rawko.runtime.actor_kinds import ChildMachine
from rawko.runtime.actor_parts.incoming import Incoming
from rawko.runtime.inspection import InspectionStream


class HttpSender(Protocol):
    """Carries events over HTTP; see `rawko.runtime.scxml.http_events`."""

    def location(self, path: str) -> str:
        """The address of the actor with that path."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task that is cancelled when the sender ends."""
        ...

    async def post(self, url: str, event: str, data: Mapping[str, Any]) -> None:
        """Send an event.

        Raises:
            RuntimeFault: The event was not delivered.
        """
        ...


class Tree(Protocol):
    """Data shared by the actors of one tree; see `rawko.runtime.session`."""

    http: HttpSender | None
    is_journaled: bool
    is_whole: bool
    turn: asyncio.Lock

    @property
    def stream(self) -> InspectionStream: ...

    @property
    def actors(self) -> Mapping[str, Member]: ...

    @property
    def steps(self) -> int: ...

    @property
    def is_checkpoint_due(self) -> bool: ...

    def register(self, actor: Member) -> None:
        """Register an actor that starts."""

    def forget(self, actor: Member) -> None:
        """Remove an actor that has ended."""

    async def commit(self, actor: Member, step: Step) -> None:
        """Write a step to the journal, then publish it.

        Raises:
            JournalError: The step was not written.
        """
        ...

    async def checkpoint(self) -> None: ...

    def log(self, actor: Member, message: str, level: str, data: Mapping[str, Any]) -> None: ...


class Member(Protocol):
    """One actor of a tree; see `rawko.runtime.actor`."""

    path: str
    interpreter: Interpreter
    incoming: Incoming

    @property
    def started_from(self) -> Mapping[str, Any] | None:
        """The snapshot that the actor continued from; None if it started anew."""

    @property
    def session(self) -> Tree: ...

    @property
    def system_id(self) -> str | None: ...

    @property
    def last_step(self) -> Step | None: ...

    @property
    def configuration(self) -> tuple[str, ...]: ...

    @property
    def context(self) -> Mapping[str, Any]: ...

    @property
    def children(self) -> Mapping[str, Member]: ...

    @property
    def is_ended(self) -> bool: ...

    @property
    def takes_events(self) -> bool: ...

    @property
    def is_idle(self) -> bool: ...

    def now(self) -> float: ...

    def next_due(self) -> float | None: ...

    def send(self, name: str, /, **data: Any) -> None: ...

    async def request(self, name: str, /, **data: Any) -> Step: ...

    def put(self, name: str, data: Mapping[str, Any]) -> None: ...

    def emitted(self, event: str, data: Mapping[str, Any], source: str | None = None) -> None: ...

    def make_child(self, effect: StartInvocation, machine: ChildMachine) -> Member: ...

    def crash(self, error: BaseException) -> None: ...

    def wake_up(self) -> None: ...

    def halt(self) -> None: ...

    def snapshot_in_turn(self) -> dict[str, Any]: ...

    def matches(self, state: str) -> bool: ...

    def has_tag(self, tag: str) -> bool: ...

    async def until_idle(self, timeout_s: float | None = None) -> None: ...

    async def run(self) -> Any: ...
