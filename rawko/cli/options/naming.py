"""Which run, and which step, an argument of the command line means; the rules are in `rawko.app.records.naming`.

What is ambiguous is told with the candidates, and ends the command with the exit code of bad input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rawko.cli.output import complain

if TYPE_CHECKING:
    from rawko.app.records.naming import Meant


def named(run: str, meant: Meant) -> str:
    """The id of the run that is meant; `run` is "" where none is named."""
    from rawko.app.records.naming import name_run
    from rawko.cli.settings import settings_to_look
    from rawko.config import ConfigError

    try:
        return name_run(run, settings_to_look(is_told=False), meant)
    except ConfigError as error:
        raise typer.Exit(complain(str(error))) from error


def named_step(address: str, meant: Meant) -> str:
    """`RUN@K` with the run's whole id; "@K" is a step of the run that is meant where none is named."""
    run, at, place = address.strip().partition("@")
    return f"{named(run, meant)}{at}{place}"


def run_and_text(first: str, second: str | None, meant: Meant, *, what: str) -> tuple[str, str]:
    """`[RUN] TEXT`: where one word stands alone, it is the text.

    Args:
        what: The name of the text in a message, where a run alone is named.
    """
    from rawko.app.records.naming import names_of
    from rawko.cli.settings import settings_to_look
    from rawko.config import ConfigError

    if second is not None:
        return named(first, meant), second
    try:
        if first in names_of(settings_to_look(is_told=False)):
            raise typer.Exit(complain(f"{what} is missing; accepted: RUN {what}, or {what} alone"))
    except ConfigError as error:
        raise typer.Exit(complain(str(error))) from error
    return named("", meant), first
