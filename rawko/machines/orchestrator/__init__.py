"""The orchestrator: which agent works, for how long, and what its work is worth. Chart `statecharts/orchestrator.yaml`.

`bindings` holds everything that is pure; the actors need the world and come from `actors.actors(ports)`.
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
"""Bound by `actors.actors(ports)`."""

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
