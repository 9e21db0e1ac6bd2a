"""The orchestrator: chooses agents, runs them, evaluates their work. Chart `statecharts/orchestrator.yaml`.

`bindings` holds the pure functions; `actors.actors(ports)` adds the actors, which do all I/O.
"""

from __future__ import annotations

from rawko.interpreter.bindings import Bindings
from rawko.machines.orchestrator import actions, delays, evidence, guards, inputs, recording
from rawko.machines.orchestrator import failure_actions as failing
from rawko.machines.orchestrator.context import OrchestratorContext

ACTORS = (
    "arbiter_select_agent",
    "arbiter_evaluate",
    "agent_executor",
    "check_wait",
    "capture_delivery",
    "check_evidence",
)
"""Names of the actors that `actors.actors(ports)` binds."""

bindings: Bindings = (
    guards.bindings
    | actions.bindings
    | recording.bindings
    | failing.bindings
    | delays.bindings
    | evidence.bindings
    | inputs.bindings
)
bindings.add("context", "OrchestratorContext", OrchestratorContext)
bindings.declare("actor", *ACTORS)

__all__ = ["ACTORS", "OrchestratorContext", "bindings"]
