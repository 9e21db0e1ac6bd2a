"""The parallel plan: steps of a plan run in lanes and are adopted in turn. Chart `statecharts/parallel_plan.yaml`.

All modules here are pure; lanes, adoptions and checks are actors that the run binds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rawko.machines.parallel_plan import actions, guards, inputs

ACTORS = ("run_agent", "run_lane", "capture_files", "adopt_lane", "check_files", "take_back")
"""Actors that the run binds."""

PLACEHOLDERS: Final[Mapping[str, frozenset[str]]] = {"plan": frozenset({"task"})}
"""The templates in `prompts/parallel_plan`, each with the names of its data."""

AGENT_PARAMETERS: Final = ("planner", "worker", "steps")
"""Parameters whose values are names of agents."""

bindings = guards.bindings | actions.bindings | inputs.bindings
bindings.declare("actor", *ACTORS)

__all__ = ["ACTORS", "AGENT_PARAMETERS", "PLACEHOLDERS", "bindings"]
