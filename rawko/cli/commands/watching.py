"""The command that shows a run on the terminal."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from rawko.cli.options.common import Trust


def watch(
    run: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[RUN]", help="A run; by default the latest one at work.", show_default=False),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Take the whole screen; inline by default.")] = False,
    trust: Trust = False,
) -> None:
    """Watch a run on the terminal, also one of another process. Keys answer, approve, rewind: `?` lists them."""
    from rawko.extras import require

    require("tui", "rawko watch")
    from rawko.cli.watching.terminal_keeper import keep_terminal

    keep_terminal(is_full=full, told="watch it again with: rawko watch\n")
    from rawko.cli.watching.watch import watch_command

    raise typer.Exit(watch_command(run, is_full=full, is_trusted=trust))
