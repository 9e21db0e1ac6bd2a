"""The settings that commands on recorded runs work with: the folder as it is now."""

from __future__ import annotations

import sys
from pathlib import Path

from rawko.cli.fitting import fitted
from rawko.cli.options.expanding import NO_FLAGS
from rawko.cli.output import visible_line
from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.processes.keys import environment
from rawko.trust.project import Judge, grant, never


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
    return load_settings(current_folder(), given, _environ(), judge=judge, has_powers=has_powers)


def settings_of_next_run(flags: Flags) -> Settings:
    """Settings of the current folder as a run would have them if all that the project asks for were granted.

    They are for a command that says what a run could do: nothing of them may be opened, run or sent anywhere.

    Args:
        flags: As a run would be given them.

    Raises:
        ConfigError: The folder is gone, or its configuration is malformed.
    """
    return load_settings(current_folder(), flags, _environ(), judge=grant)


def settings_to_look(*, judge: Judge = never, bindings: str | None = None, is_told: bool = True) -> Settings:
    """Settings of the current folder for a command that only looks at what is recorded.

    What is wrong with them is one line on standard error; the settings are those without it.

    Args:
        judge: As of `settings_here`.
        is_told: Whether the line is printed.

    Raises:
        ConfigError: The folder is gone.
    """
    problems: list[str] = []
    given = Flags({"bindings": bindings})
    settings = load_settings(current_folder(), given, _environ(), judge=judge, has_powers=False, tolerated=problems)
    if problems and is_told:
        first, more = problems[0].partition(" accepted:")[0].rstrip(";"), len(problems) - 1
        others = f" (and {more} more: rawko run tells all)" if more else ""
        told = f"rawko: warning: {visible_line(first)}{others}; left out here"
        print(fitted(told, sys.stderr), file=sys.stderr)
    return settings


def _environ() -> dict[str, str]:
    return {**environment(), "RAWKO_PROVIDER": "anthropic"}


_elsewhere: list[Path] = []


def work_in(folder: Path) -> None:
    """Let the command work on the runs of another folder: that of a fleet's run."""
    _elsewhere[:] = [folder]


def current_folder() -> Path:
    """The folder that commands work in.

    Raises:
        ConfigError: It is gone, or closed to us.
    """
    if _elsewhere:
        return _elsewhere[0]
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(f"the current folder cannot be used: {error.strerror}") from error
