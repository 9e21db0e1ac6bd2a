"""Options of the commands that run a pattern of several agents: `gauntlet`."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Optional

import typer

from rawko.cli.options import completing
from rawko.cli.options.common import Quiet, ReportAsJson, Trust
from rawko.cli.options.expanding import NO_FLAGS, Takes
from rawko.cli.options.running import RunOptions
from rawko.config.flags import Flags


class GauntletOptions(NamedTuple):
    """What `rawko gauntlet` is given: the task, who takes part, and settings."""

    task: Annotated[str, typer.Argument(metavar="TASK", help="What is to be done, in your words.")]
    author: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(
            metavar="NAME", help="Who works and repairs; developer by default.", autocompletion=completing.agents
        ),
    ] = None
    reviewers: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAMES",
            help="Who reviews, with commas between; correctness, security, tests and style by default.",
        ),
    ] = None
    rounds: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, max=50, help="How often the author may work; 3 by default."),
    ] = None
    tui: Annotated[bool, typer.Option("--tui", help="Show it on the terminal view, as `rawko watch` does.")] = False
    full: Annotated[bool, typer.Option("--full", help="With --tui: take the whole screen.")] = False
    flags: Annotated[Flags, Takes(lambda row: True)] = NO_FLAGS
    json: ReportAsJson = False
    quiet: Quiet = False
    trust: Trust = False

    @property
    def run(self) -> RunOptions:
        """The options of the run."""
        return RunOptions(
            task=self.task,
            agent="gauntlet",
            tui=self.tui,
            full=self.full,
            flags=self.flags,
            json=self.json,
            quiet=self.quiet,
            trust=self.trust,
        )

    @property
    def parameters(self) -> dict[str, object]:
        """Of the agent that runs the pattern; None where nothing is given."""
        names = None if self.reviewers is None else [name.strip() for name in self.reviewers.split(",") if name.strip()]
        return {"author": self.author, "reviewers": names, "rounds": self.rounds}
