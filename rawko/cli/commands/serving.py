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
    fleet: Annotated[
        bool, typer.Option("--fleet", help="All runs of the fleet (RAWKO_FLEET_URL) instead, and its queues.")
    ] = False,
) -> None:
    """Show the runs and charts of the current folder as pages in a browser, on this machine alone."""
    require("web", "rawko serve")
    if fleet:
        require("agents", "rawko serve --fleet")
        require("fleet", "rawko serve --fleet")
        from rawko.cli.serving.serve import serve_fleet_command

        raise typer.Exit(serve_fleet_command(port, opens=open))
    from rawko.cli.serving.serve import serve_command

    raise typer.Exit(serve_command(port, opens=open))


def report(
    run: RunId,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("-o", "--output", metavar="FILE", help="Where to write the page, such as run.html."),
    ] = None,
    receipt: Annotated[
        bool, typer.Option("--receipt", help="Print what supports the run's claim: evidence, review, risk, cost.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="With --receipt: as one JSON object.")] = False,
) -> None:
    """Write a run as one page that needs no server and no network, to read and to pass on; or print its receipt."""
    from rawko.cli.output import complain

    if receipt == (output is not None) or (json and not receipt):
        raise typer.Exit(complain("report needs one of two: -o FILE for a page, or --receipt (with --json: as data)"))
    if output is None:
        from rawko.cli.runs.comparing import receipt_command

        raise typer.Exit(receipt_command(named(run, "travel"), as_json=json))
    from rawko.cli.serving.report import report_command

    raise typer.Exit(report_command(named(run, "look"), output))
