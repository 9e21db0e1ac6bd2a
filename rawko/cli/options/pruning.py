"""Options of `rawko runs prune`."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Optional

import typer


class PruneOptions(NamedTuple):
    """Which runs to remove, and how to show it; None where an option is not given."""

    older_than: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(metavar="AGE", help="Runs without a step for this time: 90m, 12h, 30d, 8w."),
    ] = None
    outcome: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="OUTCOME", help="Runs with this outcome; may be repeated; by default all ended runs."),
    ] = None
    keep: Annotated[Optional[int], typer.Option(min=0, metavar="N", help="Keep the latest N runs.")] = None  # noqa: UP045
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False
