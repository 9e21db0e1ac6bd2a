"""Prepares the first step of a run: writes the record of a new run, and captures its files."""

from __future__ import annotations

import asyncio

from rawko.app.records.charts import keep_charts
from rawko.app.records.record import Parent, has_record
from rawko.app.records.record_changes import forget_record, write_record
from rawko.app.run.requirements import run_charts, tools_of
from rawko.app.run.workspace_report import WorkspaceReport
from rawko.app.time_travel.user_git import head_of
from rawko.config import ConfigError, Settings
from rawko.runtime.ports import Toolbox, WorkspaceError


async def record_run(
    settings: Settings,
    run: str,
    task: str,
    agent: str | None,
    toolbox: Toolbox,
    *,
    continues: str | None,
    parent: Parent | None,
    is_interactive: bool,
) -> None:
    """Write the record of a new run; see `Run` for the arguments.

    Raises:
        ConfigError: The record cannot be written.
    """
    charts = run_charts(settings, agent)
    keep_charts(settings, charts)
    write_record(
        settings,
        run,
        task,
        agent,
        continues=continues,
        parent=parent,
        is_interactive=is_interactive,
        head=await asyncio.to_thread(head_of, settings.workspace, settings.environ),
        charts={chart.name: chart.hash for chart in charts},
        tools=tools_of(settings, toolbox),
    )


def check_origin(settings: Settings, run: str, origin: str | None) -> None:
    """Check, now that a run has a record, that a prune has not removed the run that it was made from meanwhile.

    A prune that begins later finds the record, and keeps that run.

    Raises:
        ConfigError: It was removed; the new run's record is removed, too.
    """
    if origin is not None and not has_record(settings, origin):
        forget_record(settings, run)
        raise ConfigError(f"run {origin!r} was removed just now (`rawko runs prune`), so nothing was begun")


async def capture_before(workspace_report: WorkspaceReport, settings: Settings, run: str, *, is_resumed: bool) -> None:
    """Capture the files as they are before the run; without this snapshot the run could not be undone.

    Raises:
        ConfigError: They cannot be captured. A new run is not started, and its record is removed.
    """
    try:
        await workspace_report.begin(is_resumed=is_resumed)
    except WorkspaceError as error:
        if is_resumed:
            raise ConfigError(f"run {run!r} cannot be resumed: {error.message}") from error
        is_forgotten = forget_record(settings, run)
        more = "" if is_forgotten else f"; when that is mended, begin it with: rawko resume {run}"
        raise ConfigError(f"the workspace cannot be recorded, so nothing was begun: {error.message}{more}") from error
