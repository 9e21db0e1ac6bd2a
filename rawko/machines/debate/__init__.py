"""The debate: two sides argue in bounded rounds, a judge decides. Chart `statecharts/debate.yaml`.

All modules here are pure; the actor `run_agent` runs the sides, and the actor `judge` compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rawko.machines.debate import actions, guards, inputs

ACTORS = ("judge", "run_agent")
"""Actors that the run binds: `run_agent` runs an agent of the run, `judge` finds the better side."""

PLACEHOLDERS: Final[Mapping[str, frozenset[str]]] = {
    "argue": frozenset({"question", "position", "own", "other", "round", "rounds"}),
}
"""The templates in `prompts/debate`, each with the names of its data."""

AGENT_PARAMETERS: Final = ("sides",)
"""Parameters whose values are names of agents."""

bindings = guards.bindings | actions.bindings | inputs.bindings
bindings.declare("actor", *ACTORS)

__all__ = ["ACTORS", "AGENT_PARAMETERS", "PLACEHOLDERS", "bindings"]
