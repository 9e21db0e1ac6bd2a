"""Changes that the command line makes to the settings of a run that is resumed or repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rawko.config.flags import Flags, changing_names, fixed_names
from rawko.config.layers import of_flags
from rawko.config.settings import Settings
from rawko.trust.errors import ConfigError


def with_model(settings: Settings, model: str | None) -> Settings:
    """The settings with another model for every agent and the arbiter; None changes nothing."""
    if model is None:
        return settings
    agents = {name: config.model_copy(update={"model": None}) for name, config in settings.agents.items()}
    return replace(settings, model=model, agents=agents)


def changed_by(settings: Settings, flags: Flags) -> Settings:
    """The settings with the options of the command line applied to them.

    Raises:
        ConfigError: An option has an unusable value, or cannot be given to a resumed run.
    """
    problems = [
        f"{name}: a run goes on as it was started; accepted: {', '.join(changing_names())}"
        for name in fixed_names(flags)
    ]
    values = of_flags(flags, problems).values
    if problems:
        raise ConfigError("\n".join(problems))
    changes: dict[str, Any] = {}
    for name, value in values.items():
        block, _, part = name.partition(".")
        if part:
            value = changes.get(block, getattr(settings, block)).model_copy(update={part: value})
        changes[block] = value
    return replace(settings, **changes)
