"""The gauntlet: an author works, reviewers review, the author repairs. Chart `statecharts/gauntlet.yaml`.

All modules here are pure; the actor `run_agent`, which every chart of agents has, runs the agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rawko.machines.gauntlet import actions, guards, inputs

ACTORS = ("run_agent",)
"""Actors that the run binds: `run_agent` runs an agent of the run."""

PLACEHOLDERS: Final[Mapping[str, frozenset[str]]] = {
    "review": frozenset({"task", "says", "files", "findings", "round"}),
    "repair": frozenset({"task", "findings", "round"}),
}
"""The templates in `prompts/gauntlet`, each with the names of its data."""

AGENT_PARAMETERS: Final = ("author", "reviewers")
"""Parameters whose values are names of agents."""

bindings = guards.bindings | actions.bindings | inputs.bindings
bindings.declare("actor", *ACTORS)

__all__ = ["ACTORS", "AGENT_PARAMETERS", "PLACEHOLDERS", "bindings"]
