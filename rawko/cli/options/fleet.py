"""Options of the commands of the fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple, Optional

import typer

from rawko.cli.options import completing
from rawko.cli.options.common import ReportAsJson, Task
from rawko.cli.options.expanding import NO_FLAGS, Takes
from rawko.config.flags import Flags

Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue.")]


class SubmitOptions(NamedTuple):
    """The task, its place in the queue, and settings of the run."""

    task: Task = ""
    repo: Annotated[
        str,
        typer.Option(metavar="REPO", help="DIR or URL, with @REV for a revision; without it an empty folder."),
    ] = ""
    queue: Annotated[str, typer.Option(metavar="NAME", help="The queue.")] = "default"
    tenant: Annotated[str, typer.Option(metavar="NAME", help="The tenant of the task; tenants take turns.")] = "default"
    priority: Annotated[
        int, typer.Option(metavar="N", help="From -1000 to 1000; of one tenant the higher goes first.")
    ] = 0
    key: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(metavar="KEY", help="The same key of the same tenant is the same task, and queued once."),
    ] = None
    delay: Annotated[str, typer.Option(metavar="TIME", help="Start the task after this time: 90s, 30m, 2h, 1d.")] = ""
    agent: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Run only this agent's loop.", autocompletion=completing.agents),
    ] = None
    batch: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Submit the tasks of a YAML file, all or none; options give defaults."),
    ] = None
    trust: Annotated[
        bool, typer.Option("--trust", help="Grant what the repository asks for, at this commit; see `rawko trust`.")
    ] = False
    flags: Annotated[Flags, Takes(lambda row: True)] = NO_FLAGS
    json: ReportAsJson = False


class WorkerOptions(NamedTuple):
    """The queues of a worker, the number of its slots, and how it runs."""

    queues: Annotated[str, typer.Option(metavar="A,B", help="Queues, the first one first.")] = "default"
    slots: Annotated[int, typer.Option(min=1, max=256, metavar="N", help="Runs at once.")] = 2
    sandbox: Annotated[
        bool, typer.Option("--require-sandbox", help="Confine the commands of every run, or do not start.")
    ] = False
    once: Annotated[bool, typer.Option("--once", help="End when nothing is queued or at work.")] = False


class LimitOptions(NamedTuple):
    """A queue, and the limits to set."""

    queue: Queue
    at_once: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="Runs at work, on all workers."),
    ] = None
    per_tenant: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="Runs at work of one tenant, on all workers."),
    ] = None
    starts: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="N/TIME", help="Runs begun within a time, on all workers: 10/1m."),
    ] = None
    none: Annotated[bool, typer.Option("--none", help="No bounds.")] = False
    json: ReportAsJson = False


class QueuePruneOptions(NamedTuple):
    """Which ended actors to delete, and how to show it."""

    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="A queue of actors: actors:NAME.")]
    older_than: Annotated[str, typer.Option(metavar="AGE", help="Actors that ended at least this long ago: 30d.")]
    tenant: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Only actors of this tenant."),
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show how many would be deleted.")] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
    json: ReportAsJson = False


class KeyLimitOptions(NamedTuple):
    """A provider or key, and the limits to set."""

    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="A provider, for each of its keys, or one key; nothing lists all."),
    ] = ""
    requests: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="Calls in any 60 seconds, of all runs."),
    ] = None
    tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="Tokens in any 60 seconds, of all runs."),
    ] = None
    at_once: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, metavar="N", help="Calls that are being answered, of all runs."),
    ] = None
    none: Annotated[bool, typer.Option("--none", help="No limits.")] = False
    json: ReportAsJson = False


class BudgetOptions(NamedTuple):
    """A tenant, and the budget to set."""

    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="The tenant; nothing lists all.")] = ""
    max_cost: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(min=0.0, metavar="USD", help="US dollars at most, for all its runs together."),
    ] = None
    max_tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=0, metavar="N", help="Tokens at most, for all its runs together."),
    ] = None
    per: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="PERIOD", help="Period of the budget: day, month (default) or ever; in UTC."),
    ] = None
    none: Annotated[bool, typer.Option("--none", help="No budget.")] = False
    json: ReportAsJson = False
