"""The race: several lanes work on one task, and one of them wins. Chart `statecharts/race.yaml`.

All modules here are pure; the actor `run_lane` runs the lanes, and the actor `judge` compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rawko.machines.race import actions, adoption, guards, inputs

ACTORS = ("ask_person", "bring_in", "check_evidence", "judge", "plan_adoption", "run_lane")
"""Actors that the run binds. `run_lane` runs an agent in a folder of its own, `judge` finds the best result of the
lanes, `plan_adoption` and `bring_in` merge the winner's changes into the files."""

PLACEHOLDERS: Final[Mapping[str, frozenset[str]]] = {}
"""The race has no templates: each lane gets the task as it was given."""

AGENT_PARAMETERS: Final = ("lanes",)
"""Parameters whose values are names of agents."""

bindings = guards.bindings | actions.bindings | inputs.bindings | adoption.bindings
bindings.declare("actor", *ACTORS)

__all__ = ["ACTORS", "AGENT_PARAMETERS", "PLACEHOLDERS", "bindings"]
