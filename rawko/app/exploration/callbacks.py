"""The lease, callbacks and environment that an exploration passes to the node engine and to the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rawko.app.exploration.record import Attempt, ExplorationRecord
from rawko.config import Settings
from rawko.machines.node_engine.context import RunState
from rawko.machines.node_engine.leases import Lease, Leases
from rawko.machines.node_engine.results import EngineResult
from rawko.processes.keys import OWN
from rawko.tools.commands.environment import FIXED, command_environment

Tell = Callable[[str, Sequence[Mapping[str, Any]]], None]
"""Called with (node, events) after each attempt, once the attempt is recorded."""


def program_environment(settings: Settings, *, is_models_choice: bool) -> dict[str, str]:
    """The program's environment: rawko's without its keys; if a model types, only what agents' commands may see."""
    environ = settings.environ
    if not is_models_choice:
        return {name: value for name, value in environ.items() if name not in OWN}
    handed = command_environment(environ, settings.bash.extra_env)
    return {name: value for name, value in handed.items() if name not in FIXED}  # FIXED suits programs without a user


class RecordingCallbacks:
    """Writes attempts to the record, and reports each to an observer once it is recorded."""

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
    """One lease for all stretches of an exploration; calls `begin` once the lease is held, and not before.

    Args:
        begin: Records the start.
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
