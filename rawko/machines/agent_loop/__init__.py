"""The agent machine: one agent's run, tool call by tool call. The chart is `statecharts/agent_loop.yaml`.

`bindings` holds the pure functions; `actors(ports)` (in `actors`) adds the actors, which do all I/O.
"""

from __future__ import annotations

from rawko.machines.agent_loop import actions, budgets, convergence, evidence, guards, inputs, people
from rawko.machines.agent_loop import failure_actions as failing
from rawko.machines.agent_loop.context import AgentLoopContext
from rawko.machines.agent_loop.conversation import compaction as compacting
from rawko.machines.agent_loop.inputs import agent_loop_input
from rawko.machines.agent_loop.sub_agents import bindings as sub_agents

ACTORS = (
    *("stream_agent", "summarise", "check_gate", "execute_tool", "call_agent"),
    *("capture_snapshot", "ask_person", "check_evidence"),
)
"""Names of the actors that `actors.actors(ports)` binds."""

TRANSIENT_EVENTS = frozenset({"TEXT_DELTA"})
"""Pieces of the model's answer: the finished message is journaled, the pieces are not."""

bindings = (
    guards.bindings
    | actions.bindings
    | compacting.bindings
    | convergence.bindings
    | budgets.bindings
    | people.bindings
    | evidence.bindings
    | sub_agents.bindings
    | failing.bindings
    | inputs.bindings
)
bindings.declare("actor", *ACTORS)

__all__ = ["ACTORS", "TRANSIENT_EVENTS", "AgentLoopContext", "agent_loop_input", "bindings"]
