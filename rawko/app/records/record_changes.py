"""Writes, changes and removes the files about a run: its record and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rawko.app.records.json_files import read_file, write_file
from rawko.app.records.record import BEGIN_FILE, REPORT_FILE, RUN_FILE, Parent, RunRecord, runs_folder
from rawko.app.records.record_file import FORMAT
from rawko.config import ConfigError, Settings
from rawko.config.recorded import recorded
from rawko.providers.models import resolve_model


def write_record(
    settings: Settings,
    run: str,
    task: str,
    agent: str | None,
    *,
    parent: Parent | None = None,
    head: str | None = None,
    charts: Mapping[str, str] | None = None,
    tools: Mapping[str, Sequence[str]] | None = None,
    continues: str | None = None,
    is_interactive: bool = False,
) -> None:
    """Write the record of a new run; with the model's full name, so that a resume asks the same model.

    Args:
        parent, head, charts, tools, continues, is_interactive: See `RunRecord`.

    Raises:
        ConfigError: The record cannot be written.

    Source: C-23.
    """
    data = {
        "format": FORMAT,
        "run": run,
        "task": task,
        "agent": agent,
        "continues": continues,
        "is_interactive": is_interactive,
        "parent": None if parent is None else parent.to_json(),
        "head": head,
        "charts": dict(charts or {}),
        "tools": {name: list(found) for name, found in (tools or {}).items()},
        "rewinds": [],
        "settings": recorded(
            settings,
            model=settings.model if settings.provider == "scripted" else resolve_model(settings.model),
            scenario=_place_of(settings.scenario),
        ),
    }
    write_file(runs_folder(settings.state_dir) / run / RUN_FILE, data)


def _place_of(scenario: str | None) -> str | None:
    """A scenario that is a file, by its absolute path, since the run may be resumed from another folder."""
    return str(Path(scenario).absolute()) if scenario and Path(scenario).is_file() else scenario


def change_budget(settings: Settings, run: str) -> None:
    """Record the budget with which a run is resumed, which may be larger than the one it was started with.

    Raises:
        ConfigError: The record cannot be read or written.
    """
    path = runs_folder(settings.state_dir) / run / RUN_FILE
    data = read_file(path)
    budget = settings.budget.to_json()
    if data["settings"].get("budget") != budget:
        data["settings"]["budget"] = budget
        write_file(path, data)


def write_report(settings: Settings, run: str, report: Mapping[str, Any]) -> None:
    """Write the report of a run.

    Raises:
        ConfigError: It cannot be written.
    """
    write_file(runs_folder(settings.state_dir) / run / REPORT_FILE, report)


def write_first_event(settings: Settings, run: str, name: str, data: Mapping[str, Any]) -> None:
    """Store the event that the agent of a run gets once it is idle.

    Raises:
        ConfigError: It cannot be written.
    """
    write_file(runs_folder(settings.state_dir) / run / BEGIN_FILE, {"event": name, "data": dict(data)})


def note_rewind(record: RunRecord, row: int, step: int) -> None:
    """Add a rewind to the record of a run, unless it is recorded already.

    Raises:
        ConfigError: The record cannot be written.
    """
    if (row, step) not in record.rewinds:
        change_record(record.settings.state_dir, record.run, rewinds=[*map(list, record.rewinds), [row, step]])


def note_migration(record: RunRecord, row: int, charts: Mapping[str, str]) -> None:
    """Record that a run uses other charts from a row on; called before that row is written.

    Raises:
        ConfigError: The record cannot be written.
    """
    before = {name: record.charts[name] for name in charts}
    noted = [[row, before] for row, before in (*record.migrations, (row, before))]
    change_record(record.settings.state_dir, record.run, charts={**record.charts, **charts}, migrations=noted)


def forget_migration(record: RunRecord) -> None:
    """Remove a recorded migration whose row was never written.

    Args:
        record: Without the migration, as `without_unwritten_migration` gives it.

    Raises:
        ConfigError: The record cannot be written.
    """
    noted = [[row, dict(before)] for row, before in record.migrations]
    change_record(record.settings.state_dir, record.run, charts=dict(record.charts), migrations=noted)


def change_record(state_dir: Path, run: str, *, workspace: Path | None = None, **fields: Any) -> None:
    """Change fields of a run's record.

    Raises:
        ConfigError: The record cannot be read or written.
    """
    path = runs_folder(state_dir) / run / RUN_FILE
    data = {**read_file(path), **fields}
    if workspace is not None:
        data["settings"] = {**data["settings"], "workspace": str(workspace)}
    write_file(path, data)


def forget_report(settings: Settings, run: str) -> None:
    """Remove the report of a run that is resumed, since its outcome is open again.

    Raises:
        ConfigError: The report cannot be removed.
    """
    folder = runs_folder(settings.state_dir) / run
    try:
        (folder / REPORT_FILE).unlink(missing_ok=True)
        for half in folder.glob(f".{REPORT_FILE}.*"):  # left by a process that was killed while it wrote
            half.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder / REPORT_FILE}: cannot be removed: {error.strerror}") from error


def forget_record(settings: Settings, run: str) -> bool:
    """Remove the record of a run that could not start; False where that fails, so that the run remains."""
    try:
        (runs_folder(settings.state_dir) / run / RUN_FILE).unlink(missing_ok=True)
    except OSError:
        return False
    return True
