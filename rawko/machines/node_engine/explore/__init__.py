"""A node set of the node engine that drives a real program on a terminal: `rawko explore COMMAND`.

`nodes` are the five of them, `policy` the scripted rules, `advisor` the model; `ports` what they need of the world.
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
