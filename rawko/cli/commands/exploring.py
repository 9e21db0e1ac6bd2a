"""The command that drives a terminal program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from rawko.cli.commands.options import MaxCost, MaxTokens, Trust


def explore(
    command: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="COMMAND [ARGS]...", help="The program, and what is its own.", show_default=False),
    ] = None,
    policy: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Rules that say what is typed at which screen (YAML)."),
    ] = None,
    goal: Annotated[Optional[str], typer.Option(metavar="TEXT", help="What a model is to reach.")] = None,  # noqa: UP045
    provider: Annotated[Optional[str], typer.Option(help="anthropic, scripted or cassette.")] = None,  # noqa: UP045
    scenario: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Scenario of the scripted provider: a shipped name or a file."),
    ] = None,
    model: Annotated[Optional[str], typer.Option(help="Model to ask.")] = None,  # noqa: UP045
    size: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="COLSxROWS", help="Size of the terminal; 80x24 by default."),
    ] = None,
    quiet_ms: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, max=3_600_000, metavar="MS", help="So long silent, a screen is settled; 300 by default."),
    ] = None,
    cap: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, max=3_600_000, metavar="MS", help="Longest wait for silence; 5000 by default."),
    ] = None,
    max_attempts: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="Attempts of nodes at most, three a decision; 1000 by default."),
    ] = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    timeout: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="TIME", help="At work at most, e.g. 90s, 30m, 2h."),
    ] = None,
    resume: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="RUN", help="Go on with an exploration, also with higher limits; no COMMAND."),
    ] = None,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("-o", "--output", metavar="FILE", help="Write a page with all screens: .html or .md."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No live output; only the summary.")] = False,
    trust: Trust = False,
) -> None:
    """Explore a program on a terminal of its own: by a policy's rules, or by a model's choice. Options stand first."""
    from rawko.cli.explore.explore import ExploreOptions, explore_command

    options = ExploreOptions(
        tuple(command or ()),
        policy,
        goal,
        provider,
        scenario,
        model,
        size,
        quiet_ms,
        cap,
        max_attempts,
        max_tokens,
        max_cost,
        timeout,
        resume,
        output,
        json,
        quiet,
        is_trusted=trust,
    )
    raise typer.Exit(explore_command(options))
