"""The settings that commands on recorded runs work with: the folder as it is now."""

from __future__ import annotations

from pathlib import Path

from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.processes.keys import environment


def settings_here(*, yes: bool = False) -> Settings:
    """Settings of the current folder; what a run was started with comes from its record.

    Raises:
        ConfigError: The folder is gone, or its configuration is malformed.
    """
    try:
        folder = Path.cwd()
    except OSError as error:
        raise ConfigError(f"the current folder cannot be used: {error.strerror}") from error
    return load_settings(folder, Flags(assume_yes=yes), {**environment(), "RAWKO_PROVIDER": "anthropic"})
