"""The command that drives a terminal program."""

from __future__ import annotations

import typer

from rawko.cli.options.expanding import expanded
from rawko.cli.options.exploring import ExploreOptions
from rawko.cli.options.naming import named


@expanded
def explore(options: ExploreOptions) -> None:
    """Explore a program on its own terminal, by a policy's rules or a model's choice. Options come before COMMAND."""
    from rawko.cli.explore.explore import explore_command

    if options.resume is not None:
        options = options._replace(resume=named(options.resume, "look"))
    raise typer.Exit(explore_command(options))
