"""The node engine: a walk over named nodes, attempt by attempt. The chart is `statecharts/node_engine.yaml`.

`bindings` holds the pure functions; `actors(ports)` (in `actors`) adds the actors, which do all I/O. Nodes are
registered with `nodes.NodeRegistry`, run one attempt at a time by `engine.NodeEngine`, driven by one of the two
drivers in `drivers`.
"""

from __future__ import annotations

from rawko.machines.node_engine import actions, guards, inputs
from rawko.machines.node_engine.context import (
    Budgets,
    NodeEngineContext,
    RunReport,
    RunState,
    StopCheck,
)
from rawko.machines.node_engine.nodes import Adapters, NodeCall, NodeOutcome, NodeRegistry, Port, failed, succeeded
from rawko.machines.node_engine.policies import NodePolicy, Policies, RetryPolicy, parse_policies
from rawko.machines.node_engine.results import EngineResult

ACTORS = ("run_once", "should_stop", "on_persist", "on_attempt")
"""Names of the actors that `actors.actors(ports)` binds."""

bindings = guards.bindings | actions.bindings | inputs.bindings
bindings.declare("actor", *ACTORS)

__all__ = [
    "ACTORS",
    "Adapters",
    "Budgets",
    "EngineResult",
    "NodeCall",
    "NodeEngineContext",
    "NodeOutcome",
    "NodePolicy",
    "NodeRegistry",
    "Policies",
    "Port",
    "RetryPolicy",
    "RunReport",
    "RunState",
    "StopCheck",
    "bindings",
    "failed",
    "parse_policies",
    "succeeded",
]
