"""The settings that commands on recorded runs work with: the folder as it is now."""

from __future__ import annotations

from pathlib import Path

from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.processes.keys import environment
from rawko.trust.project import Judge, never
from rawko.vocabulary.budget import Budget


def settings_here(
    *,
    yes: bool = False,
    judge: Judge = never,
    has_powers: bool = False,
    bindings: str | None = None,
    budget: Budget | None = None,
) -> Settings:
    """Settings of the current folder; what a run was started with comes from its record.

    Args:
        judge: Decides about what the project asks for; by default nothing of a project is ever run.
        has_powers: Whether the project's own settings are asked for at once; else only what turns out to be needed.
        bindings: The module that the user names for agents' own charts.
        budget: What the user bounds the run with from now on.

    Raises:
        ConfigError: The folder is gone, its configuration is malformed, or it is not trusted.
    """
    try:
        folder = Path.cwd()
    except OSError as error:
        raise ConfigError(f"the current folder cannot be used: {error.strerror}") from error
    flags = Flags(assume_yes=yes, bindings=bindings, budget=budget or Budget())
    environ = {**environment(), "RAWKO_PROVIDER": "anthropic"}
    return load_settings(folder, flags, environ, judge=judge, has_powers=has_powers)
