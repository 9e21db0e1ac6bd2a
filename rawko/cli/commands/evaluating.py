"""The command that runs tasks several times and counts successes."""

from __future__ import annotations

import typer

from rawko.cli.options.evaluation import EvalOptions
from rawko.cli.options.expanding import expanded


@expanded
def eval_(options: EvalOptions) -> None:
    """Have tasks tried several times, check what each attempt leaves, and count: pass@k, cost, time, states.

    Each attempt is a run of its own, in a folder of its own. Stopped, the same command goes on.
    """
    from rawko.cli.evaluation.eval import eval_command

    raise typer.Exit(eval_command(options))
