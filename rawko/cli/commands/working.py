"""Commands that set machines to work, or tell them something; and what goes before: init, trust."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from rawko.cli.commands.options import HeadlessOption, MaxCost, MaxTime, MaxTokens, Trust


def run(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="What is to be done, in your words.", show_default=False)
    ] = "",
    provider: Annotated[Optional[str], typer.Option(help="anthropic, scripted or cassette.")] = None,  # noqa: UP045
    scenario: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Scenario of the scripted provider: a shipped name or a file."),
    ] = None,
    model: Annotated[Optional[str], typer.Option(help="Model to ask.")] = None,  # noqa: UP045
    agent: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Run this agent's loop alone, without an arbiter."),
    ] = None,
    agents: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder with agent files; .rawko/agents by default."),
    ] = None,
    max_iterations: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="Agent runs at most; 50 by default."),
    ] = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_time: MaxTime = None,
    headless: HeadlessOption = None,
    cassette: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Answers come from this recording instead of a model; tools run for real."),
    ] = None,
    record: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Record what the model is asked and answers into a new cassette."),
    ] = None,
    sandbox: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--sandbox/--no-sandbox", show_default=False, help="Commands write the workspace only, without a network."
        ),
    ] = None,
    continues: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--continue", metavar="RUN", help="Go on with the conversation of this run, which has ended."),
    ] = None,
    again: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="RUN", help="The task and settings of this run once more, on the files as they are."),
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Talk with one agent: when it is done, say what comes next.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Allow every tool call that rules do not deny.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No live output; only the summary.")] = False,
    trust: Trust = False,
) -> None:
    """Run a task in the current folder: an arbiter picks agents until it is done."""
    from rawko.cli.run import Bounds, RunOptions, run_command

    bounds = Bounds(max_cost, max_tokens, max_time)
    options = RunOptions(
        task,
        provider,
        scenario,
        model,
        agent,
        agents,
        max_iterations,
        yes,
        json,
        quiet,
        bounds,
        headless,
        cassette,
        record,
        sandbox,
        continues=continues,
        interactive=interactive,
        again=again,
        is_trusted=trust,
    )
    raise typer.Exit(run_command(options))


def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run; see `rawko runs`.", show_default=False)],
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_time: MaxTime = None,
    max_iterations: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="After that limit: so many agent runs more."),
    ] = None,
    headless: HeadlessOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and touch nothing.")] = False,
    workspace: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Where the run's workspace has moved to."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Allow every tool call that rules do not deny.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No live output; only the summary.")] = False,
    trust: Trust = False,
) -> None:
    """Go on with a run that was interrupted or killed, waits for a person, or has reached a limit."""
    from rawko.cli.run import Bounds
    from rawko.cli.runs.sessions import resume_command

    if dry_run:
        from rawko.cli.runs.travel import dry_run_command

        raise typer.Exit(dry_run_command(run, workspace, as_json=json, is_trusted=trust))
    code = resume_command(
        run,
        yes=yes,
        as_json=json,
        quiet=quiet,
        bounds=Bounds(max_cost, max_tokens, max_time),
        max_iterations=max_iterations,
        headless=headless,
        workspace=workspace,
        is_trusted=trust,
    )
    raise typer.Exit(code)


def cancel(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run; see `rawko runs`.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
    trust: Trust = False,
) -> None:
    """End a run or an exploration, wherever it stands: at work in another process, waiting, interrupted."""
    from rawko.cli.runs.cancel import cancel_command

    raise typer.Exit(cancel_command(run, as_json=json, is_trusted=trust))


def answer(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run that asks.", show_default=False)],
    text: Annotated[str, typer.Argument(help="Your answer.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
    trust: Trust = False,
) -> None:
    """Answer the question of a run, and go on with it."""
    from rawko.cli.runs.sessions import WORDS, answer_command

    raise typer.Exit(answer_command(run, text, WORDS, as_json=json, is_trusted=trust))


def approve(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run that asks.", show_default=False)],
    scope: Annotated[str, typer.Option(help="once, tool (this tool from now on) or always.")] = "once",
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
    trust: Trust = False,
) -> None:
    """Allow the tool call that a run asks about, and go on with it."""
    from rawko.cli.runs.sessions import approve_command

    raise typer.Exit(approve_command(run, scope, as_json=json, is_trusted=trust))


def deny(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run that asks.", show_default=False)],
    reason: Annotated[str, typer.Argument(help="Why not; the agent is told.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
    trust: Trust = False,
) -> None:
    """Refuse the tool call that a run asks about, and go on with it."""
    from rawko.cli.runs.sessions import APPROVAL, answer_command

    raise typer.Exit(answer_command(run, reason or "deny", APPROVAL, as_json=json, is_trusted=trust))


def init(
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Write the built-in agents, a configuration and their JSON Schemas into .rawko/."""
    from rawko.cli.authoring.init import init_command

    raise typer.Exit(init_command(Path.cwd(), force=force))


def trust(
    folder: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(metavar="FOLDER", help="A project; the current folder by default.", show_default=False),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Only list what it asks for, and what is trusted.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust it no longer.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """Decide about what a project asks for: Python, servers, endpoints, allowing rules. Asks once, until it changes."""
    from rawko.cli.trust.command import trust_command

    raise typer.Exit(trust_command(folder, shows=show, revokes=revoke, as_json=json))
