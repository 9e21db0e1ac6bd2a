"""The settings that commands on recorded runs work with: the folder as it is now."""

from __future__ import annotations

from pathlib import Path

from rawko.cli.options.expanding import NO_FLAGS
from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.processes.keys import environment
from rawko.trust.project import Judge, never


def settings_here(
    flags: Flags = NO_FLAGS,
    *,
    judge: Judge = never,
    has_powers: bool = False,
    bindings: str | None = None,
) -> Settings:
    """Settings of the current folder; what a run was started with comes from its record.

    Args:
        flags: What the command line says; the budget and `--yes` count here, all else is for the run's own settings.
        judge: Decides about what the project asks for; by default nothing of a project is ever run.
        has_powers: Whether the project's own settings are asked for at once; else only what turns out to be needed.
        bindings: The module that the user names for agents' own charts.

    Raises:
        ConfigError: The folder is gone, its configuration is malformed, or it is not trusted.
    """
    given = Flags({**dict(flags.only("budget", "assume_yes").items()), "bindings": bindings})
    environ = {**environment(), "RAWKO_PROVIDER": "anthropic"}
    return load_settings(current_folder(), given, environ, judge=judge, has_powers=has_powers)


def current_folder() -> Path:
    """The folder that commands work in.

    Raises:
        ConfigError: It is gone, or closed to us.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(f"the current folder cannot be used: {error.strerror}") from error
