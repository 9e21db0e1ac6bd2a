"""Ports that start nothing: for a run that is resumed only to be cancelled, or a machine that is only inspected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import NoReturn

from rawko.runtime.ports import (
    ApprovalScope,
    GateVerdict,
    ModelRequest,
    OutputListener,
    StreamEvent,
    ToolOutcome,
    ToolSpec,
    TurnDone,
    Workspace,
)
from rawko.vocabulary.messages import ToolCall
from rawko.vocabulary.snapshot import FileChange, Snapshot, StepChange


async def _never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets the event")


class NullProvider:
    """A provider that asks no model: calls wait until they are cancelled."""

    name = "none"

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        await _never()
        yield  # type: ignore[unreachable]  # makes it a generator

    async def create(self, request: ModelRequest) -> TurnDone:
        return await _never()

    async def aclose(self) -> None:
        """Do nothing: no connection is open."""


class NullToolbox:
    """A toolbox that runs no tool: calls wait until they are cancelled."""

    def specs(self, agent: str) -> Sequence[ToolSpec]:
        return ()

    def check(self, agent: str, call: ToolCall) -> GateVerdict:
        return GateVerdict("deny", "cancelled", "the run is being cancelled")

    def approve(self, agent: str, call: ToolCall, scope: ApprovalScope) -> None:
        """Do nothing: no call will be run."""

    async def run(self, agent: str, call: ToolCall, on_output: OutputListener | None = None) -> ToolOutcome:
        return await _never()

    async def aclose(self) -> None:
        """Do nothing: no tool is open."""


class NullWorkspace:
    """A workspace without files: calls wait until they are cancelled."""

    root = ""

    async def capture(self, label: str, touched: Sequence[str] | None = None) -> Snapshot:
        return await _never()

    async def reset(self, to: Snapshot | None = None) -> None:
        await _never()

    async def changes(self, before: str, after: str) -> Sequence[FileChange]:
        return await _never()

    async def step_changes(self, first: str, before: str, after: str) -> Sequence[StepChange]:
        return await _never()

    async def diff(self, before: str, after: str) -> str:
        return await _never()

    async def aclose(self) -> None:
        """Do nothing: no store is open."""


class UnresetWorkspace:
    """A workspace that is read but never reset, so that the changes of an interrupted tool are part of the result."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def root(self) -> str:
        return self._workspace.root

    async def capture(self, label: str, touched: Sequence[str] | None = None) -> Snapshot:
        return await self._workspace.capture(label, touched)

    async def reset(self, to: Snapshot | None = None) -> None:
        await _never()

    async def changes(self, before: str, after: str) -> Sequence[FileChange]:
        return await self._workspace.changes(before, after)

    async def step_changes(self, first: str, before: str, after: str) -> Sequence[StepChange]:
        return await self._workspace.step_changes(first, before, after)

    async def diff(self, before: str, after: str) -> str:
        return await self._workspace.diff(before, after)

    async def aclose(self) -> None:
        """Do nothing: the owner of the workspace closes it."""
