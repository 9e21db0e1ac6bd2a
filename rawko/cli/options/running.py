"""Options of the commands that run a task: `run` and `resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple, Optional

import typer

from rawko.cli.options import completing
from rawko.cli.options.common import OnTerminalView, Quiet, ReportAsJson, RunId, Task, Trust, WholeScreen
from rawko.cli.options.expanding import NO_FLAGS, Takes
from rawko.config.flags import Flags


class RunOptions(NamedTuple):
    """The task, how to run it, and settings."""

    task: Task = ""
    agent: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(
            metavar="NAME",
            help="Run only this agent's loop, without an arbiter.",
            autocompletion=completing.agents,
        ),
    ] = None
    continues: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--continue",
            metavar="RUN",
            help="Continue the conversation of this run, which has ended.",
            autocompletion=completing.runs,
        ),
    ] = None
    again: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="RUN", help="Repeat this run's task with its settings, on the present files."),
    ] = None
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Talk with one agent: when it is done, say what comes next.")
    ] = False
    tui: OnTerminalView = False
    full: WholeScreen = False
    flags: Annotated[Flags, Takes(lambda row: True)] = NO_FLAGS
    json: ReportAsJson = False
    quiet: Quiet = False
    trust: Trust = False

    @property
    def is_headless(self) -> bool:
        """Whether questions go to the policy instead of a person."""
        return "headless" in self.flags


class ResumeOptions(NamedTuple):
    """The run, and settings that a resumed run accepts."""

    run: RunId = ""
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would happen, and change nothing.")] = False
    workspace: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="The present folder of a run's moved workspace."),
    ] = None
    flags: Annotated[
        Flags,
        Takes(
            lambda row: row.setting.can_change,
            {"max_iterations": "After that limit: the number of further agent runs."},
        ),
    ] = NO_FLAGS
    json: ReportAsJson = False
    quiet: Quiet = False
    trust: Trust = False

    @property
    def is_headless(self) -> bool:
        """Whether questions go to the policy instead of a person."""
        return "headless" in self.flags
