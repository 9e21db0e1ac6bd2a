"""The settings of a run of a pattern, such as `rawko gauntlet`: the pattern's built-in agents added to the
project's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rawko.config.agents import BUILT_IN_AGENTS, load_agents
from rawko.config.settings import Settings


def with_pattern(settings: Settings, pattern: str, parameters: Mapping[str, Any]) -> Settings:
    """The settings with the agents of a pattern added; an agent of the project replaces the built-in agent of its name.

    Args:
        pattern: The pattern's name, which is also the name of the agent that runs it.
        parameters: Values that replace the parameters in that agent's file, where not None.

    Raises:
        ConfigError: An agent's file is malformed.
    """
    agents = {**load_agents(BUILT_IN_AGENTS / pattern), **settings.agents}
    given = {name: value for name, value in parameters.items() if value is not None}
    runs = agents[pattern]
    agents[pattern] = runs.model_copy(update={"parameters": {**runs.parameters, **given}})
    return replace(settings, agents=agents)
