"""Commands that show runs as pages: a server on loopback, and one offline file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from rawko.cli.options.common import RunId
from rawko.cli.options.naming import named
from rawko.extras import require


def serve(
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, max=65_535, metavar="N", help="Port of 127.0.0.1; 7341 by default, or a free one."),
    ] = None,
    open: Annotated[bool, typer.Option("--open", help="Open the link in a browser.")] = False,
) -> None:
    """Show the runs and charts of the current folder as pages in a browser, on this machine alone."""
    require("web", "rawko serve")
    from rawko.cli.serving.serve import serve_command

    raise typer.Exit(serve_command(port, opens=open))


def report(
    run: RunId,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write the page, such as run.html."),
    ],
) -> None:
    """Write a run as one page that needs no server and no network, to read and to pass on."""
    from rawko.cli.serving.report import report_command

    raise typer.Exit(report_command(named(run, "look"), output))
