"""What an exploration hands to the node engine and to the program: a lease, callbacks, an environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rawko.app.exploration.record import Attempt, ExplorationRecord
from rawko.config import Settings
from rawko.machines.node_engine.context import EngineResult, RunState
from rawko.machines.node_engine.leases import Lease, Leases
from rawko.processes.keys import OWN
from rawko.tools.commands.environment import FIXED, command_environment

Tell = Callable[[str, Sequence[Mapping[str, Any]]], None]
"""Called with (node, events) after each attempt, once it is kept."""


def program_environment(settings: Settings, *, is_models_choice: bool) -> dict[str, str]:
    """What a program sees of our environment: all but our keys; what commands of agents see, where a model types."""
    environ = settings.environ
    if not is_models_choice:
        return {name: value for name, value in environ.items() if name not in OWN}
    handed = command_environment(environ, settings.bash.extra_env)
    return {name: value for name, value in handed.items() if name not in FIXED}  # these are for where nobody looks


class Telling:
    """The record, and whoever watches: told only of what is kept."""

    def __init__(self, record: ExplorationRecord, tell: Tell) -> None:
        self._record = record
        self._tell = tell
        self._news: Callable[[], None] = lambda: None

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        await self._record.on_persist(state, events, node_name)
        self._news = partial(self._tell, node_name, Attempt(node_name, state, tuple(events)).told)

    async def on_attempt(self, result: EngineResult) -> None:
        news, self._news = self._news, lambda: None
        news()


class OneLease:
    """One lease for all stretches of an exploration; what begins is noted once it is held, and not before.

    Args:
        begin: Notes it.
    """

    def __init__(self, run: str, leases: Leases, begin: Callable[[], None]) -> None:
        self._run = run
        self._leases = leases
        self._begin = begin

    async def acquire(self, run_id: str, owner: str, now_ms: int, *, dead: str | None = None) -> Lease:
        lease = await self._leases.acquire(self._run, owner, now_ms, dead=dead)
        try:
            self._begin()
        except BaseException:
            await self._leases.release(lease, now_ms)
            raise
        return lease

    async def renew(self, lease: Lease, now_ms: int) -> Lease:
        return await self._leases.renew(lease, now_ms)

    async def release(self, lease: Lease, now_ms: int) -> None:
        await self._leases.release(lease, now_ms)
