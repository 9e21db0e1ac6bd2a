"""All commands with their options. What they do is in the modules beside this one, loaded when a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

app = typer.Typer(
    name="rawko",
    help="Statecharts for agents: run coding tasks under a statechart, and lint, test, draw and export charts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Charts = Annotated[list[Path], typer.Argument(metavar="CHART...", help="Chart files (YAML).", show_default=False)]
OneChart = Annotated[Path, typer.Argument(metavar="CHART", help="Chart file (YAML).", show_default=False)]
BindingsOption = Annotated[
    Optional[str],  # noqa: UP045 - typer reads the annotation at run time
    typer.Option("--bindings", metavar="MODULE", help="Python module whose `bindings` the chart's names stand for."),
]
TrustCode = Annotated[bool, typer.Option("--trust-code", help="Allow Python code in plain sismic charts.")]
StepAddress = Annotated[
    str, typer.Argument(metavar="RUN@K", help="Step K of a run, as `rawko log` prints it.", show_default=False)
]
Output = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("-o", "--output", metavar="FILE", help="Write there instead of to standard output."),
]
MaxCost = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(metavar="USD", help="US dollars at most, for the whole run."),
]
MaxTokens = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=1, metavar="N", help="Tokens at most, for the whole run."),
]
MaxTime = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="TIME", help="At work for this long at most, e.g. 90s, 30m, 2h."),
]
HeadlessOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        metavar="POLICY", help="Ask nobody; at a question fail, park (wait for an answer later), or default (answer)."
    ),
]


def _version(value: bool) -> None:
    if value:
        from rawko import __version__

        typer.echo(f"rawko {__version__}")
        raise typer.Exit


@app.callback()
def rawko(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Statecharts for agents: run coding tasks under a statechart, and lint, test, draw and export charts."""


@app.command()
def run(
    task: Annotated[str, typer.Argument(metavar="TASK", help="What is to be done, in your words.", show_default=False)],
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
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Allow every tool call that rules do not deny.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No live output; only the summary.")] = False,
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
    )
    raise typer.Exit(run_command(options))


@app.command()
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
) -> None:
    """Go on with a run that was interrupted or killed, waits for a person, or has reached a limit."""
    from rawko.cli.run import Bounds
    from rawko.cli.sessions import resume_command

    if dry_run:
        from rawko.cli.travel import dry_run_command

        raise typer.Exit(dry_run_command(run, workspace, as_json=json))
    code = resume_command(
        run,
        yes=yes,
        as_json=json,
        quiet=quiet,
        bounds=Bounds(max_cost, max_tokens, max_time),
        max_iterations=max_iterations,
        headless=headless,
        workspace=workspace,
    )
    raise typer.Exit(code)


@app.command()
def cancel(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run; see `rawko runs`.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
) -> None:
    """End a run, whether it is at work in another process, waits for a person, or was interrupted."""
    from rawko.cli.cancelling import cancel_command

    raise typer.Exit(cancel_command(run, as_json=json))


@app.command()
def answer(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run that asks.", show_default=False)],
    text: Annotated[str, typer.Argument(help="Your answer.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
) -> None:
    """Answer the question of a run, and go on with it."""
    from rawko.cli.sessions import WORDS, answer_command

    raise typer.Exit(answer_command(run, text, WORDS, as_json=json))


@app.command()
def approve(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run that asks.", show_default=False)],
    scope: Annotated[str, typer.Option(help="once, tool (this tool from now on) or always.")] = "once",
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
) -> None:
    """Allow the tool call that a run asks about, and go on with it."""
    from rawko.cli.sessions import approve_command

    raise typer.Exit(approve_command(run, scope, as_json=json))


@app.command()
def deny(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run that asks.", show_default=False)],
    reason: Annotated[str, typer.Argument(help="Why not; the agent is told.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, as the last line.")] = False,
) -> None:
    """Refuse the tool call that a run asks about, and go on with it."""
    from rawko.cli.sessions import APPROVAL, answer_command

    raise typer.Exit(answer_command(run, reason or "deny", APPROVAL, as_json=json))


runs_app = typer.Typer(add_completion=False, rich_markup_mode=None)
app.add_typer(runs_app, name="runs")


@runs_app.callback(invoke_without_command=True)
def runs(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="One JSON object each.")] = False,
) -> None:
    """List the runs and explorations of the current folder, oldest first; `rawko runs prune` removes old runs."""
    if context.invoked_subcommand is not None:
        return
    from rawko.cli.history import runs_command

    raise typer.Exit(runs_command(as_json=json))


@runs_app.command("prune")
def runs_prune(
    older_than: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="AGE", help="Where nothing has happened for so long: 90m, 12h, 30d, 8w."),
    ] = None,
    outcome: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="OUTCOME", help="With this outcome, may be repeated; by default all that have ended."),
    ] = None,
    keep: Annotated[Optional[int], typer.Option(min=0, metavar="N", help="The latest N stay.")] = None,  # noqa: UP045
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Remove runs for good: journal rows, snapshots and records. Runs at work, and those that a fork needs, stay."""
    from rawko.cli.prune import PruneOptions, prune_command

    raise typer.Exit(prune_command(PruneOptions(older_than, tuple(outcome or ()), keep, dry_run, yes, json)))


@app.command()
def log(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run; see `rawko runs`.", show_default=False)],
    whole: Annotated[bool, typer.Option("--all", "-a", help="Also pieces of text, which older runs have.")] = False,
    last: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("-n", "--last", min=1, metavar="N", help="The latest N steps alone."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Every step whole, one JSON object each.")] = False,
) -> None:
    """Show what happened in a run, step by step: event, machine, states. `~` marks steps that a rewind left behind."""
    from rawko.cli.history import log_command

    raise typer.Exit(log_command(run, is_whole=whole, as_json=json, last=last))


@app.command()
def show(
    address: Annotated[
        str, typer.Argument(metavar="RUN[@K]", help="A run, or step K as `rawko log` prints it.", show_default=False)
    ],
    json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
) -> None:
    """Show a step: what happened, why it went where it went, what it changed and cost; or a run on one page."""
    from rawko.cli.history import show_command

    raise typer.Exit(show_command(address, as_json=json))


@app.command()
def diff(
    run: Annotated[str, typer.Argument(metavar="RUN[@A]", help="A run, or the first step.", show_default=False)],
    places: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="A [B]", help="Steps of that run; or RUN@B of another one.", show_default=False),
    ] = None,
    files: Annotated[bool, typer.Option("--files", help="The files alone.")] = False,
    conversation: Annotated[bool, typer.Option("--conversation", help="The messages alone.")] = False,
    machine: Annotated[bool, typer.Option("--machine", help="States and context alone.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
) -> None:
    """Compare two steps, of one run (`diff RUN A B`) or of two (`diff RUN1@A RUN2@B`): files, conversation, machine."""
    from rawko.cli.travel import diff_command

    asked = {"files": files, "conversation": conversation, "machine": machine}
    parts = [name for name, is_asked in asked.items() if is_asked]
    raise typer.Exit(diff_command(run, places or [], parts, as_json=json))


@app.command()
def rewind(
    address: StepAddress,
    files: Annotated[bool, typer.Option("--files", help="Restore the files alone; the machine stays.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Set a run back to a step: machine, conversation and files. Later steps stay, and edits are kept."""
    from rawko.cli.travel import rewind_command

    raise typer.Exit(rewind_command(address, files_only=files, as_json=json))


@app.command()
def fork(
    address: StepAddress,
    task: Annotated[Optional[str], typer.Option(help="A new task, with what was said and done so far.")] = None,  # noqa: UP045
    agent: Annotated[Optional[str], typer.Option(metavar="NAME", help="Who works next.")] = None,  # noqa: UP045
    model: Annotated[Optional[str], typer.Option(help="Model to ask from there on.")] = None,  # noqa: UP045
    into: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder of the fork; one beside the workspace by default."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON.")] = False,
) -> None:
    """Make a run of its own from a step, in a folder of its own; the original stays as it is."""
    from rawko.cli.travel import fork_command

    raise typer.Exit(fork_command(address, task, agent, model, into, as_json=json))


@app.command()
def branch(
    address: StepAddress,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the branch.", show_default=False)],
    message: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("-m", "--message", help="Of the commit; the run's task by default."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Move a branch of that name that is there already.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write the files of a step as a branch of your git repository: one commit; your work tree is not touched."""
    from rawko.cli.travel import branch_command

    raise typer.Exit(branch_command(address, name, message, is_forced=force, as_json=json))


@app.command()
def replay(
    address: Annotated[str, typer.Argument(metavar="RUN[@K]", help="A run, or a step to stop at.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Step through a recorded run once more, with no model and no tool, and check that it comes out as recorded."""
    from rawko.cli.travel import replay_command

    raise typer.Exit(replay_command(address, as_json=json))


@app.command()
def init(
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Write the built-in agents, a configuration and their JSON Schemas into .rawko/."""
    from rawko.cli.init import init_command

    raise typer.Exit(init_command(Path.cwd(), force=force))


@app.command()
def check(charts: Charts, bindings: BindingsOption = None, trust_code: TrustCode = False) -> None:
    """Lint charts: file:line:col: code: message. Exit 1 if there are errors."""
    from rawko.cli.charts import check_command

    raise typer.Exit(check_command(charts, bindings=bindings, trusted=trust_code))


@app.command()
def test(
    charts: Charts,
    bindings: BindingsOption = None,
    scenario: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("-k", metavar="TEXT", help="Only scenarios whose name contains this."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON, as the last line.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Also list what is not covered.")] = False,
) -> None:
    """Run the .feature contracts beside the charts; a coverage table at the end."""
    from rawko.cli.contracts import test_command

    raise typer.Exit(test_command(charts, bindings=bindings, scenario=scenario, as_json=json, is_verbose=verbose))


@app.command()
def diagram(
    chart: OneChart,
    output: Output = None,
    theme: Annotated[str, typer.Option(help="light, dark or auto (the reader's setting); SVG and PNG.")] = "light",
    direction: Annotated[str, typer.Option(help="Where transitions lead: down or right.")] = "down",
    focus: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="STATE", help="Draw this state and those that a transition joins to it."),
    ] = None,
    depth: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="Draw states down to this depth; deeper ones are counted."),
    ] = None,
    configuration: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="STATE", help="Highlight this state as active; may be given more than once."),
    ] = None,
    run: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="RUN[@K]", help="Highlight where a run stands, and the way that it took."),
    ] = None,
    agents: Annotated[bool, typer.Option("--agents", help="Tell the agents' names where they are run.")] = False,
    expand: Annotated[bool, typer.Option("--expand", help="Draw the agents' charts where they are run.")] = False,
    trust_code: TrustCode = False,
) -> None:
    """Draw a chart; the file's ending says how: .svg, .png, .mmd (Mermaid), .dot (Graphviz), .puml (PlantUML)."""
    from rawko.cli.diagrams import Drawing, diagram_command

    drawing = Drawing(theme, direction, focus, depth, tuple(configuration or ()), run, agents, expand)
    raise typer.Exit(diagram_command(chart, output, drawing, trusted=trust_code))


@app.command()
def export(
    chart: OneChart,
    to: Annotated[
        str,
        typer.Option("--to", metavar="FORMAT", help="sismic (plain YAML), xstate (JSON for XState 5) or scxml."),
    ],
    output: Output = None,
    trust_code: TrustCode = False,
) -> None:
    """Write a chart in another format."""
    from rawko.cli.charts import export_command

    raise typer.Exit(export_command(chart, to, output, trusted=trust_code))


@app.command("import")
def import_(
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="XState 5 machine (.json) or SCXML document (.scxml).", show_default=False),
    ],
    output: Output = None,
    kind: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--from", metavar="FORMAT", help="xstate or scxml; by default what the file's ending says."),
    ] = None,
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Let in the Python code of an SCXML document.")
    ] = False,
    data_model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--data-model", metavar="NAME", help="python: read SCXML's code as Python, whatever it says itself."
        ),
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out SCXML's transitions to states that are not there.")
    ] = False,
) -> None:
    """Write a machine of another format as a chart in YAML; what is lost is told."""
    from rawko.cli.formats import import_command

    raise typer.Exit(import_command(source, kind, output, trusted=trust_code, data_model=data_model, lenient=lenient))


@app.command(context_settings={"allow_interspersed_args": False})
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
) -> None:
    """Explore a program on a terminal of its own: by a policy's rules, or by a model's choice. Options stand first."""
    from rawko.cli.explore import ExploreOptions, explore_command

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
    )
    raise typer.Exit(explore_command(options))


@app.command()
def pin(
    step: Annotated[
        str, typer.Argument(metavar="RUN@K", help="A step as `rawko log RUN` numbers it.", show_default=False)
    ],
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("-o", "--output", metavar="FILE", help="Append it to this .feature, beside its chart."),
    ] = None,
    guards: Annotated[
        bool, typer.Option("--guards", help="Say how guards come out, instead of giving the context they read.")
    ] = False,
) -> None:
    """Tell a recorded step as a scenario of a contract, which `rawko test` runs."""
    from rawko.cli.pin import pin_command

    raise typer.Exit(pin_command(step, output=output, gives_guards=guards))


@app.command()
def schema(
    name: Annotated[str, typer.Argument(metavar="NAME", help="chart, agent, config, scenario or policy.")] = "chart",
    output: Output = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors."""
    from rawko.cli.charts import schema_command

    raise typer.Exit(schema_command(name, output))
