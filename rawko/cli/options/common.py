"""Options and arguments that several commands share, with one spelling and one help text each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from rawko.cli.options import completing

Charts = Annotated[
    list[Path],
    typer.Argument(
        metavar="CHART...",
        help="Chart files (YAML); a folder means the charts in it.",
        show_default=False,
        autocompletion=completing.charts,
    ),
]
OneChart = Annotated[
    Path,
    typer.Argument(
        metavar="CHART",
        help="Chart file (YAML), or the name of a shipped chart.",
        show_default=False,
        autocompletion=completing.charts,
    ),
]
BindingsOption = Annotated[
    Optional[str],  # noqa: UP045 - typer reads the annotation at run time
    typer.Option(
        "--bindings", metavar="MODULE", help="Python module whose `bindings` has the functions that the chart names."
    ),
]
TrustCode = Annotated[bool, typer.Option("--trust-code", help="Allow Python code in plain sismic charts.")]
STEP_HELP = "Step K of a run: a number of `rawko log`, last, -1 (the one before), or the beginning of a snapshot's id."
StepAddress = Annotated[
    str,
    typer.Argument(
        metavar="[RUN]@K",
        help=f"{STEP_HELP} Of the latest run, if none is named.",
        show_default=False,
        autocompletion=completing.steps,
    ),
]
Output = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("-o", "--output", metavar="FILE", help="Write there instead of to standard output."),
]
RunId = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run: its id in `rawko runs`, the id's beginning, or last. Not needed where only one run fits.",
        show_default=False,
        autocompletion=completing.runs,
    ),
]
FirstOfTwo = Annotated[
    str,
    typer.Argument(
        metavar="[RUN]",
        help="The run; not needed where only one is open.",
        show_default=False,
        autocompletion=completing.runs,
    ),
]
AskingRun = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run: its id in `rawko runs`, the id's beginning, or last. Not needed where only one run asks.",
        show_default=False,
        autocompletion=completing.runs,
    ),
]
ReportAsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No live output; only the summary.")]
Task = Annotated[str, typer.Argument(metavar="TASK", help="What is to be done, in your words.", show_default=False)]
OnTerminalView = Annotated[bool, typer.Option("--tui", help="Show it on the terminal view, as `rawko watch` does.")]
WholeScreen = Annotated[bool, typer.Option("--full", help="With --tui: take the whole screen.")]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Grant this command all that the project asks for; see `rawko trust`."),
]
