"""Options of `rawko eval`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple, Optional

import typer

from rawko.cli.options import completing
from rawko.cli.options.common import Quiet, Trust
from rawko.cli.options.expanding import NO_FLAGS, Takes
from rawko.config.flags import Flags

_WORDS = {
    "budget.cost_usd": "US dollars at most, for all attempts together.",
    "budget.tokens": "Tokens at most, for all attempts together.",
    "budget.time": "Work for this long at most, e.g. 90s, 30m, 2h.",
}


class EvalOptions(NamedTuple):
    """The tasks, the number of attempts, and settings."""

    tasks: Annotated[
        Path,
        typer.Argument(
            metavar="TASKS",
            help="A folder with tasks, each a folder with a task.yaml; or one task.",
            show_default=False,
        ),
    ]
    task: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(metavar="NAME", help="Only this task. Repeatable."),
    ] = None
    agent: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME",
            help="Agent for tasks that name none; by default all agents, under the arbiter.",
            autocompletion=completing.agents,
        ),
    ] = None
    attempts: Annotated[
        int, typer.Option("-n", "--attempts", metavar="N", min=1, max=1000, help="Attempts at each task.")
    ] = 1
    jobs: Annotated[int, typer.Option("-j", "--jobs", metavar="N", min=1, help="Attempts that run at a time.")] = 1
    min_pass: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="RATE", min=0.0, max=1.0, help="Exit code 1 unless this part of all attempts passes."),
    ] = None
    again: Annotated[
        bool, typer.Option("--again", help="Start again, even where a stopped evaluation could continue.")
    ] = False
    keep: Annotated[bool, typer.Option("--keep", help="Leave the folders of attempts in place.")] = False
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("-o", "--output", metavar="FILE", help="Write everything as one HTML page, too."),
    ] = None
    flags: Annotated[Flags, Takes(lambda row: True, _WORDS)] = NO_FLAGS
    json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False
    quiet: Quiet = False
    trust: Trust = False
