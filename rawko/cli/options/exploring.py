"""Options of `rawko explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, NamedTuple, Optional

import typer

from rawko.cli.options.common import Quiet, ReportAsJson, Trust
from rawko.cli.options.expanding import NO_FLAGS, Takes
from rawko.config.flags import Flags

MODEL: Final = Takes(lambda row: row.name in ("provider", "scenario", "model"))
"""Options of the settings that choose the model."""
SPENDING: Final = Takes(lambda row: row.name in ("budget.cost_usd", "budget.tokens"))
"""Options of the settings that limit tokens and cost."""


class ExploreOptions(NamedTuple):
    """The program, how to explore it, and settings; None where an option is not given."""

    command: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads the annotation at run time
        typer.Argument(metavar="COMMAND [ARGS]...", help="The program with its arguments.", show_default=False),
    ] = None
    policy: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Rules that say what is typed at which screen (YAML)."),
    ] = None
    goal: Annotated[Optional[str], typer.Option(metavar="TEXT", help="The goal of a model.")] = None  # noqa: UP045
    model: Annotated[Flags, MODEL] = NO_FLAGS
    size: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="COLSxROWS", help="Size of the terminal; 80x24 by default."),
    ] = None
    quiet_ms: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=1, max=3_600_000, metavar="MS", help="Silence after which a screen is settled; 300 by default."
        ),
    ] = None
    cap_ms: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--cap", min=1, max=3_600_000, metavar="MS", help="Longest wait for silence; 5000 by default."),
    ] = None
    max_attempts: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="The most attempts of nodes, three per decision; 1000 by default."),
    ] = None
    spending: Annotated[Flags, SPENDING] = NO_FLAGS
    timeout: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="TIME", help="Work at most this long, e.g. 90s, 30m, 2h."),
    ] = None
    resume: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="RUN", help="Resume an exploration, also with higher limits; without COMMAND."),
    ] = None
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("-o", "--output", metavar="FILE", help="Write a page with all screens: .html or .md."),
    ] = None
    json: ReportAsJson = False
    quiet: Quiet = False
    trust: Trust = False
