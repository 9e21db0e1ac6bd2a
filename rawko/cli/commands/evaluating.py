"""The command that runs tasks several times and counts successes."""

from __future__ import annotations

import typer

from rawko.cli.options.evaluation import EvalOptions
from rawko.cli.options.expanding import expanded


@expanded
def eval_(options: EvalOptions) -> None:
    """Run tasks several times, check the results of each attempt, and count: pass@k, cost, time, states.

    Each attempt is a separate run in a separate folder. After an interruption the same command continues.
    """
    from rawko.cli.evaluation.eval import eval_command

    raise typer.Exit(eval_command(options))
