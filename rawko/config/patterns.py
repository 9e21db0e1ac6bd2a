"""The settings of a run of a pattern, such as `rawko gauntlet`: its built-in agents beside those of the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rawko.config.agents import BUILT_IN_AGENTS, load_agents
from rawko.config.settings import Settings


def with_pattern(settings: Settings, pattern: str, parameters: Mapping[str, Any]) -> Settings:
    """The settings with the agents of a pattern; an agent of the project stands in for the built-in one of its name.

    Args:
        pattern: Its name, which is that of the agent that runs it.
        parameters: Those that are given (not None) stand in for those of that agent's file.

    Raises:
        ConfigError: An agent's file is malformed.
    """
    agents = {**load_agents(BUILT_IN_AGENTS / pattern), **settings.agents}
    given = {name: value for name, value in parameters.items() if value is not None}
    runs = agents[pattern]
    agents[pattern] = runs.model_copy(update={"parameters": {**runs.parameters, **given}})
    return replace(settings, agents=agents)
