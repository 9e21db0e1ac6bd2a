"""Commands that steer a run at work: force, skip, retry, tell."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from rawko.cli.options import completing
from rawko.cli.options.common import FirstOfTwo, RunId, Trust
from rawko.cli.options.naming import named, run_and_text

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def force(
    run: FirstOfTwo,
    agent: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            metavar="AGENT", help="The agent that works next.", show_default=False, autocompletion=completing.agents
        ),
    ] = None,
    json: AsJson = False,
    trust: Trust = False,
) -> None:
    """Make an agent work next instead of the arbiter's choice; an agent at work is stopped first."""
    run, name = run_and_text(run, agent, "steer", what="AGENT")
    _override(run, "force", name, as_json=json, is_trusted=trust)


def skip(run: RunId = "", json: AsJson = False, trust: Trust = False) -> None:
    """Skip the plan's step in progress; an agent at work on it is stopped first."""
    _override(named(run, "steer"), "skip", as_json=json, is_trusted=trust)


def retry(run: RunId = "", json: AsJson = False, trust: Trust = False) -> None:
    """Retry now instead of waiting after an error."""
    _override(named(run, "steer"), "retry", as_json=json, is_trusted=trust)


def tell(
    run: FirstOfTwo,
    text: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="TEXT", help="The message.", show_default=False),
    ] = None,
    json: AsJson = False,
    trust: Trust = False,
) -> None:
    """Send the arbiter a message, which its next question to the model contains."""
    run, words = run_and_text(run, text, "steer", what="TEXT")
    _override(run, "tell", words, as_json=json, is_trusted=trust)


def _override(run: str, kind: str, text: str = "", *, as_json: bool, is_trusted: bool) -> None:
    from rawko.cli.overrides.remote import override_command

    raise typer.Exit(override_command(run, kind, text, as_json=as_json, is_trusted=is_trusted))
