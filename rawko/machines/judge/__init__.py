"""The judge: the best of several candidates, by their checks and by a model's answers. Chart `statecharts/judge.yaml`.

All modules but `actors`, which asks the model, are pure. Other charts invoke the machine as the actor `judge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rawko.machines.judge import actions, guards, inputs

ACTORS = ("ask_judge",)
"""The actor that `actors` binds: it asks the model one question."""

PLACEHOLDERS: Final[Mapping[str, frozenset[str]]] = {
    "system": frozenset(),
    "compare": frozenset({"task", "criteria", "candidates"}),
    "reask": frozenset({"problem"}),
}
"""The templates in `prompts/judge`, each with the names of its data."""

bindings = guards.bindings | actions.bindings | inputs.bindings
bindings.declare("actor", *ACTORS)

__all__ = ["ACTORS", "PLACEHOLDERS", "bindings"]
