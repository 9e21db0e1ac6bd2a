"""Nodes for the node engine that explore a real program on a terminal: `rawko explore COMMAND`.

`nodes` has the five nodes, `policy` the scripted rules, `advisor` the model, `ports` the protocols of their ports.
"""

from __future__ import annotations

from rawko.machines.node_engine.explore.nodes import explore_nodes, policies_of
from rawko.machines.node_engine.explore.policy import ExplorePolicy, parse_policy
from rawko.machines.node_engine.explore.ports import ADVISOR, PATTERNS, TERMINAL, TRAIL
from rawko.machines.node_engine.explore.trail import KeptTrail

__all__ = [
    "ADVISOR",
    "PATTERNS",
    "TERMINAL",
    "TRAIL",
    "ExplorePolicy",
    "KeptTrail",
    "explore_nodes",
    "parse_policy",
    "policies_of",
]
