"""What the orchestrator's tests share: contexts and events as the interpreter hands them to bound functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from rawko.interpreter.data.events import Event, make_event
from rawko.interpreter.data.freezing import freeze
from rawko.interpreter.data.values import Record
from rawko.machines.orchestrator.context import ExecutionEntry, OrchestratorContext

NOW = 1_000_000

MakeContext = Callable[..., Record]
MakeEvent = Callable[..., Event]
MakeRun = Callable[..., dict[str, Any]]


@pytest.fixture
def run() -> MakeRun:
    """An ExecutionEntry as data: a success of the developer unless said otherwise."""

    def make(**fields: Any) -> dict[str, Any]:
        given = {"agent": "developer", "iteration": 1, "started_at": 0, "completed_at": 1000, "result": "success"}
        return ExecutionEntry.model_validate({**given, **fields}).to_json()

    return make


@pytest.fixture
def context() -> MakeContext:
    """A context with the agents planner and developer, overlaid by the given fields."""

    def make(**fields: Any) -> Record:
        agents = {
            "planner": {"name": "planner", "display_name": "Planning Agent", "when_to_use": "to plan"},
            "developer": {"name": "developer", "display_name": "Development Agent", "when_to_use": "to write code"},
        }
        frozen = freeze(OrchestratorContext.model_validate({"agents": agents, **fields}).to_json())
        assert isinstance(frozen, Record)
        return frozen

    return make


@pytest.fixture
def event() -> MakeEvent:
    """An event at NOW with frozen data."""

    def make(name: str, /, at_ms: int = NOW, **data: Any) -> Event:
        frozen = freeze(data)
        assert isinstance(frozen, Mapping)
        made = make_event(name, frozen)
        made.at_ms = at_ms
        return made

    return make
