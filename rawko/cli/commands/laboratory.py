"""The command that repeats recorded decisions of the arbiter in variants."""

from __future__ import annotations

import typer

from rawko.cli.options.expanding import expanded
from rawko.cli.options.lab import LabOptions
from rawko.cli.options.naming import named


@expanded
def lab(options: LabOptions) -> None:
    """Repeat the arbiter's recorded decisions with less context or in other variants: which change, what is saved.

    No run and no file is changed, unless --write asks for it.
    """
    from rawko.cli.lab.lab import lab_command

    runs = tuple(dict.fromkeys(named(run, "look") for run in options.runs))
    raise typer.Exit(lab_command(options._replace(runs=list(runs))))
