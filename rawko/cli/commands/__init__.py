"""All commands, in the order in which `rawko --help` lists them. Each has its options in one of the modules here; what
it does is in the modules of `rawko.cli`, loaded when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Final

import typer

from rawko.cli.commands import (
    charts,
    evaluating,
    exploring,
    fleet,
    laboratory,
    overriding,
    past,
    patterns,
    serving,
    watching,
    working,
)
from rawko.cli.commands.groups import GroupedHelp, epilog
from rawko.extras import require

app = typer.Typer(
    name="rawko",
    help="Statecharts for agents: run coding tasks under a statechart, and lint, test, draw and export charts.",
    cls=GroupedHelp,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


def _of_agents(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which first makes sure that the extra `agents` is installed."""

    @wraps(command)
    def checked(*arguments: object, **options: object) -> None:
        require("agents", f"rawko {command.__name__.replace('_', ' ').strip()}")
        command(*arguments, **options)

    return checked


_BEFORE_RUNS: Final[tuple[Callable[..., None], ...]] = (
    working.run,
    patterns.gauntlet,
    patterns.parallel,
    patterns.debate,
    patterns.race,
    working.chat,
    working.resume,
    working.cancel,
    working.answer,
    working.approve,
    working.deny,
    overriding.force,
    overriding.skip,
    overriding.retry,
    overriding.tell,
    watching.watch,
)
_AFTER_RUNS: Final[tuple[Callable[..., None], ...]] = (
    *(
        past.log,
        past.show,
        past.diff,
        past.compare,
        past.rewind,
        past.fork,
        past.migrate,
        past.verify,
        past.adopt,
        past.branch,
        past.replay,
    ),
    *(laboratory.lab, serving.serve, serving.report),
)
_OF_CHARTS: Final[tuple[Callable[..., None], ...]] = (
    *(
        working.init,
        working.trust,
        working.rules,
        charts.check,
        charts.fmt,
        charts.test,
        charts.prove,
        charts.diff_charts,
        charts.paths,
        charts.simulate,
        charts.new,
        charts.diagram,
        charts.export,
    ),
)

for _command in _BEFORE_RUNS:
    app.command()(_of_agents(_command))

_runs = typer.Typer(add_completion=False, rich_markup_mode=None)
_runs.callback(invoke_without_command=True)(_of_agents(past.runs))
_runs.command("prune")(past.runs_prune)
app.add_typer(_runs, name="runs")

app.command()(_of_agents(fleet.submit))
app.command()(_of_agents(fleet.worker))
_fleet = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)
_fleet.callback()(fleet.fleet)
_fleet.command("up")(fleet.fleet_up)
_fleet.command("limits")(fleet.fleet_limits)
_fleet.command("budget")(fleet.fleet_budget)
_fleet.command("workers")(fleet.fleet_workers)
app.add_typer(_fleet, name="fleet")
_queue = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)
_queue.callback()(fleet.queue)
_OF_QUEUES: Final[dict[str, Callable[..., None]]] = {
    "ls": fleet.queue_ls,
    "pause": fleet.queue_pause,
    "resume": fleet.queue_resume,
    "drain": fleet.queue_drain,
    "limits": fleet.queue_limits,
    "requeue": fleet.queue_requeue,
}
for _name, _one_of_queues in _OF_QUEUES.items():
    _queue.command(_name)(_one_of_queues)
app.add_typer(_queue, name="queue")

for _command in _AFTER_RUNS:
    app.command()(_of_agents(_command))
app.command("eval")(_of_agents(evaluating.eval_))
for _command in _OF_CHARTS:
    app.command()(_command)
app.command("import")(charts.import_)
app.command(context_settings={"allow_interspersed_args": False})(_of_agents(exploring.explore))
app.command()(_of_agents(past.pin))
app.command()(charts.schema)

for _one in app.registered_commands:
    _one.epilog = epilog(str(_one.name or getattr(_one.callback, "__name__", "").replace("_", "-")))
for _group in app.registered_groups:
    _group.epilog = epilog(str(_group.name or ""))
