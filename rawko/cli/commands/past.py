"""Commands on recorded runs: list, prune, show, compare, rewind, fork, replay and pin them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from rawko.cli.options import completing
from rawko.cli.options.common import STEP_HELP, BindingsOption, RunId, StepAddress, Trust
from rawko.cli.options.expanding import expanded
from rawko.cli.options.naming import named, named_step
from rawko.cli.options.pruning import PruneOptions


def runs(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON object each.")] = False,
    fleet: Annotated[bool, typer.Option("--fleet", help="The runs of the fleet that RAWKO_FLEET_URL names.")] = False,
    tenant: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="With --fleet: only runs of this tenant."),
    ] = None,
    queue: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="With --fleet: only runs of this queue."),
    ] = None,
) -> None:
    """List the runs and explorations of the current folder: what needs a person first, then the latest.

    `rawko runs prune` removes old runs.
    """
    if context.invoked_subcommand is not None:
        return
    if fleet:
        from rawko.cli.fleet.listing import list_fleet

        raise typer.Exit(list_fleet(tenant=tenant, queue=queue, as_json=json))
    if tenant is not None or queue is not None:
        from rawko.cli.output import complain

        raise typer.Exit(complain("--tenant and --queue go with --fleet"))
    from rawko.cli.runs.history import runs_command

    raise typer.Exit(runs_command(as_json=json))


@expanded
def runs_prune(options: PruneOptions) -> None:
    """Remove runs for good: journal rows, snapshots and records. Runs at work, and those that a fork needs, stay."""
    from rawko.cli.runs.prune import prune_command

    raise typer.Exit(prune_command(options))


def log(
    run: RunId = "",
    events: Annotated[
        bool, typer.Option("--events", help="Show the machine's events: actors, events, receipts, states.")
    ] = False,
    agent: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME",
            help="Only steps of this agent; `arbiter` is accepted, too.",
            autocompletion=completing.agents,
        ),
    ] = None,
    state: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME",
            help="Only steps after which this state is active.",
            autocompletion=completing.states,
        ),
    ] = None,
    grep: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="PATTERN", help="Only steps whose words, results or paths match, ignoring case."),
    ] = None,
    whole: Annotated[bool, typer.Option("--all", "-a", help="Leave nothing out.")] = False,
    last: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("-n", "--last", min=1, metavar="N", help="Only the latest N lines."),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Keep printing while the run works, with the model's text as it arrives."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Every step whole, one JSON object each.")] = False,
    atif: Annotated[
        bool, typer.Option("--atif", help="The run as one trajectory in ATIF, the format of agents' trajectories.")
    ] = False,
) -> None:
    """Show what happened in a run, step by step: who did what, files, tokens, cost.

    `~` marks steps that a rewind left behind.
    """
    from rawko.cli.runs.log import LogOptions

    run = named(run, "look")
    options = LogOptions(whole, events, json, last, agent, state, grep, atif)
    if follow and not atif:
        from rawko.cli.following.log import follow_command

        raise typer.Exit(follow_command(run, options))
    from rawko.cli.runs.log import log_command

    raise typer.Exit(log_command(run, options))


def show(
    address: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@K]",
            help=f"A run, or one step: {STEP_HELP}",
            show_default=False,
            autocompletion=completing.run_or_step,
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
    bindings: BindingsOption = None,
    output: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="ID", help="Print the whole of a text that was cut: iteration-3, or the id of a tool call."
        ),
    ] = None,
    what_if: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--if", metavar="EVENT", help="Show the outcome of this event at the step; all: of each possible event."
        ),
    ] = None,
    data: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--data", metavar="JSON", help="The payload of the event of --if, an object."),
    ] = None,
    machine: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--machine", metavar="PATH", help="The machine that receives the event, such as root/execute_agent."
        ),
    ] = None,
) -> None:
    """Show a step: what happened, why its transitions were taken, what it changed and cost; or a run on one page."""
    address = named_step(address, "look")
    if what_if is not None:
        from rawko.cli.runs.what_if import what_if_command

        code = what_if_command(address, what_if, data=data, machine=machine, as_json=json, bindings=bindings)
        raise typer.Exit(code)
    if data is not None or machine is not None:
        from rawko.cli.output import complain

        raise typer.Exit(complain("--data and --machine go with --if EVENT"))
    if output is not None:
        from rawko.cli.lookups.text import show_text_command

        raise typer.Exit(show_text_command(address, output, as_json=json, bindings=bindings))
    from rawko.cli.runs.history import show_command

    raise typer.Exit(show_command(address, as_json=json, bindings=bindings))


def diff(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@A]",
            help="A run, or the first step.",
            show_default=False,
            autocompletion=completing.run_or_step,
        ),
    ] = "",
    places: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="A [B]", help="Steps of this run; or RUN@B of another run.", show_default=False),
    ] = None,
    files: Annotated[bool, typer.Option("--files", help="Only the files.")] = False,
    conversation: Annotated[bool, typer.Option("--conversation", help="Only the messages.")] = False,
    machine: Annotated[bool, typer.Option("--machine", help="Only states and context.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
    bindings: BindingsOption = None,
) -> None:
    """Compare two steps, of one run (`diff RUN A B`) or of two (`diff RUN1@A RUN2@B`): files, conversation, machine."""
    from rawko.cli.runs.differences import diff_command

    asked = {"files": files, "conversation": conversation, "machine": machine}
    parts = [name for name, is_asked in asked.items() if is_asked]
    run = named_step(run, "travel")
    places = [named_step(place, "travel") if place.find("@") > 0 else place for place in places or ()]
    raise typer.Exit(diff_command(run, places, parts, as_json=json, bindings=bindings))


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN...",
            help="Two runs or more: forks, or the same task again.",
            show_default=False,
            autocompletion=completing.runs,
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
) -> None:
    """Show runs side by side: outcome, tokens, cost, time, evidence, and the lines that each has changed."""
    from rawko.cli.runs.comparing import compare_command

    raise typer.Exit(compare_command([named(run, "travel") for run in runs], as_json=json))


def rewind(
    address: StepAddress,
    files: Annotated[bool, typer.Option("--files", help="Restore only the files; the machine is not changed.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    trust: Trust = False,
) -> None:
    """Set a run back to a step: machine, conversation and files. Later steps stay, and edits are kept."""
    from rawko.cli.runs.travel import rewind_command

    raise typer.Exit(rewind_command(named_step(address, "travel"), files_only=files, as_json=json, is_trusted=trust))


def migrate(
    runs: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(
            metavar="[RUN]...", help="Which runs; the latest, if none is named.", autocompletion=completing.runs
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every run of the folder that has not ended.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and change nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    trust: Trust = False,
) -> None:
    """Bring runs whose charts have changed into the present charts, by their rules (`migrate:`), or say why not."""
    from rawko.cli.runs.migrating import migrate_command

    chosen = [named(run, "travel") for run in runs or ([] if all_ else [""])]
    raise typer.Exit(migrate_command(chosen, is_all=all_, is_dry=dry_run, as_json=json, is_trusted=trust))


def verify(
    runs: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(
            metavar="[RUN]...", help="Which runs; the latest, if none is named.", autocompletion=completing.runs
        ),
    ] = None,
    monitor: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--monitor",
            metavar="M",
            help="A property chart, or the name of one that comes with rawko; may be repeated. "
            "By default those of the settings and of their agents.",
        ),
    ] = None,
    machine: Annotated[
        str, typer.Option("--machine", metavar="NAME", help="Only machines of the chart of this name; by default all.")
    ] = "",
    all_: Annotated[bool, typer.Option("--all", help="Every run of the folder.")] = False,
    bindings: BindingsOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
    trust: Trust = False,
) -> None:
    """Check recorded runs by monitors. Exit 0: they hold, 1: one is violated, 3: not known, still owed, or vacuous."""
    from rawko.cli.proving.verify import verify_command

    chosen = [named(run, "travel") for run in runs or ([] if all_ else [""])]
    raise typer.Exit(
        verify_command(
            chosen,
            monitors=monitor or (),
            machine=machine,
            is_all=all_,
            as_json=json,
            bindings=bindings,
            is_trusted=trust,
        )
    )


def fork(
    address: StepAddress,
    task: Annotated[Optional[str], typer.Option(help="A new task, with what was said and done so far.")] = None,  # noqa: UP045
    agent: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="The agent that works next.", autocompletion=completing.agents),
    ] = None,
    model: Annotated[Optional[str], typer.Option(help="Model to ask from there on.")] = None,  # noqa: UP045
    into: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder of the fork; one beside the workspace by default."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON.")] = False,
    trust: Trust = False,
) -> None:
    """Make a separate run from a step, in a separate folder; the original is not changed."""
    from rawko.cli.runs.travel import fork_command

    raise typer.Exit(
        fork_command(named_step(address, "travel"), task, agent, model, into, as_json=json, is_trusted=trust)
    )


def adopt(
    address: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@K]",
            help="A fork of a run of this folder, or one of its steps; its end by default.",
            show_default=False,
            autocompletion=completing.run_or_step,
        ),
    ],
    only: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="PATH", help="Adopt only this file or folder of the workspace; may be repeated."),
    ] = None,
    prefer: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="ours|theirs", help="The side whose file is taken in conflicts."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
    trust: Trust = False,
) -> None:
    """Bring the changes of a fork into the current folder, merged with what was edited here meanwhile.

    What both have changed in ways that do not fit together is listed, and nothing is changed: exit code 1.
    """
    from rawko.cli.runs.adopt import AdoptOptions, adopt_command

    options = AdoptOptions(tuple(only or ()), prefer, dry_run, yes, json, trust)
    raise typer.Exit(adopt_command(named_step(address, "travel"), options))


def branch(
    address: StepAddress,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the branch.", show_default=False)],
    message: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("-m", "--message", help="Message of the commit; the run's task by default."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Move a branch of that name that is there already.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
    trust: Trust = False,
) -> None:
    """Write the files of a step as a branch of your git repository: one commit; your work tree is not touched."""
    from rawko.cli.runs.travel import branch_command

    raise typer.Exit(
        branch_command(named_step(address, "travel"), name, message, is_forced=force, as_json=json, is_trusted=trust)
    )


def replay(
    address: Annotated[
        str,
        typer.Argument(
            metavar="RUN[@K]",
            help="A run, or a step to stop at.",
            show_default=False,
            autocompletion=completing.run_or_step,
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    trust: Trust = False,
) -> None:
    """Replay a recorded run without models and tools, and check that the result is as recorded."""
    from rawko.cli.runs.travel import replay_command

    raise typer.Exit(replay_command(named_step(address, "travel"), as_json=json, is_trusted=trust))


def pin(
    step: StepAddress,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("-o", "--output", metavar="FILE", help="Append it to this .feature, beside its chart."),
    ] = None,
    guards: Annotated[
        bool, typer.Option("--guards", help="State the outcomes of guards, instead of the context that they read.")
    ] = False,
    trust: Trust = False,
) -> None:
    """Write a recorded step as a scenario of a contract, which `rawko test` runs."""
    from rawko.cli.runs.pin import pin_command

    raise typer.Exit(pin_command(named_step(step, "travel"), output=output, gives_guards=guards, is_trusted=trust))
