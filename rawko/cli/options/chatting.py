"""Options of a session: `rawko chat`, and `rawko` without a command."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple, Optional

import typer

from rawko.cli.options import completing
from rawko.cli.options.common import Trust
from rawko.cli.options.expanding import NO_FLAGS, Takes
from rawko.config.flags import Flags

SETTINGS: Final = Takes(lambda row: row.name not in ("headless", "record"))
"""Settings without --headless, since a person answers, and without --record, since a recording is of one run."""


class ChatOptions(NamedTuple):
    """The first task, the agent, whether to continue the last conversation, and settings."""

    task: Annotated[
        str, typer.Argument(metavar="[TASK]", help="The first task, in your words.", show_default=False)
    ] = ""
    agent: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(
            metavar="NAME",
            help="Talk only with this agent, without an arbiter; /agent changes it.",
            autocompletion=completing.agents,
        ),
    ] = None
    continues: Annotated[
        bool, typer.Option("--continue", "-c", help="Continue the latest conversation of this folder.")
    ] = False
    flags: Annotated[Flags, SETTINGS] = NO_FLAGS
    trust: Trust = False
