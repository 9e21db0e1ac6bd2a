"""The gauntlet: an author, reviewers side by side, repair, until nothing blocks. Chart `statecharts/gauntlet.yaml`.

All here is pure; the agents are run by the actor `run_agent`, which every chart of agents has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rawko.machines.gauntlet import actions, guards, inputs

ACTORS = ("run_agent",)
"""Bound by the run: it runs another agent of it."""

PLACEHOLDERS: Final[Mapping[str, frozenset[str]]] = {
    "review": frozenset({"task", "says", "files", "findings", "round"}),
    "repair": frozenset({"task", "findings", "round"}),
}
"""The templates in `prompts/gauntlet`, and what each of them is given."""

AGENT_PARAMETERS: Final = ("author", "reviewers")
"""Parameters that name agents."""

bindings = guards.bindings | actions.bindings | inputs.bindings
bindings.declare("actor", *ACTORS)

__all__ = ["ACTORS", "AGENT_PARAMETERS", "PLACEHOLDERS", "bindings"]
