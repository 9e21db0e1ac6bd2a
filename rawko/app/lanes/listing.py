"""Lists the lanes of a run, from their records."""

from __future__ import annotations

from rawko.app.records.outcomes import is_open
from rawko.app.records.record import RunRecord, read_record, runs_folder
from rawko.app.records.run_names import lane_depth, lane_run
from rawko.config import Settings
from rawko.workspace.repository.locks import user_of


def open_lanes(settings: Settings, run: str) -> list[RunRecord]:
    """The records of a run's lanes that have not ended, and that no process is running."""
    found = []
    for name in lanes_of(settings, run):
        record = read_record(name, settings)
        if is_open(record) and user_of(settings.state_dir / "snapshots", name) is None:
            found.append(record)
    return found


def lanes_of(settings: Settings, run: str) -> list[str]:
    """The ids of the runs of a run's own lanes, in order, without the lanes of these lanes."""
    prefix = lane_run(run, "")
    folders = runs_folder(settings.state_dir).glob(f"{prefix}*/run.json")
    names = (path.parent.name for path in folders)
    return sorted(name for name in names if lane_depth(name) == lane_depth(run) + 1)
