"""Fallback models of agents: an agent's own `fallback`, otherwise that of the settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rawko.config import ConfigError, Settings
from rawko.config.settings import WIRES
from rawko.vocabulary.agent import AgentConfig
from rawko.vocabulary.errors import Fallback, Wire

ABLE_CHART = "agent_loop"
"""The chart of which rawko knows that its machine can fall back to another model."""


def with_fallbacks(settings: Settings) -> Settings:
    """The settings, with their fallback filled in for every agent that names none itself."""
    if settings.fallback.model is None:
        return settings
    agents = {name: _filled(config, settings.fallback) for name, config in settings.agents.items()}
    return replace(settings, agents=agents)


def fallbacks_of(settings: Settings, agents: Iterable[AgentConfig] | None = None) -> Iterator[Fallback]:
    """All fallbacks that a run may ask: of the given agents, or of all agents."""
    chosen = settings.agents.values() if agents is None else agents
    for config in chosen:
        fallback = _filled(config, settings.fallback).fallback
        if fallback.model is not None:
            yield fallback


def other_providers(settings: Settings) -> tuple[Wire, ...]:
    """The providers that a run may ask beside its own; none where a scenario or a cassette answers for every model.

    Raises:
        ConfigError: A fallback names a provider and no model.
    """
    _check_named("`fallback`", settings.fallback)
    for config in settings.agents.values():
        _check_named(f"agent {config.name!r}: its `fallback`", config.fallback)
    if settings.provider not in WIRES:
        return ()
    named = {fallback.provider for fallback in (settings.fallback, *fallbacks_of(settings)) if fallback.model}
    return tuple(sorted(name for name in named if name is not None and name != settings.provider))


def _check_named(where: str, fallback: Fallback) -> None:
    if fallback.provider is not None and fallback.model is None:
        raise ConfigError(
            f"{where} names the provider {fallback.provider!r} and no model; name one with `model` beside it, or "
            "--fallback-model"
        )


def _filled(config: AgentConfig, general: Fallback) -> AgentConfig:
    if config.fallback.model is not None or config.chart != ABLE_CHART:
        return config
    return config.model_copy(update={"fallback": general})
