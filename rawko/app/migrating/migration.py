"""Bringing a run into today's versions of its charts: all of its machines in one row of its journal, or none.

The record says first that the run goes on in other charts from the next row on; then the row is written, which is when
it has happened. A note without its row is taken back by what opens the run next (`rawko.app.records.charts.settle`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rawko.app.records.charts import keep_charts, settle
from rawko.app.records.record import RunRecord, read_record
from rawko.app.records.record_changes import forget_migration, note_migration
from rawko.app.recovery.reading import refusal
from rawko.app.run.requirements import charts_of, run_charts
from rawko.app.run.resume import at_work, has_ended
from rawko.app.time_travel.recorded_run import Past, open_past
from rawko.app.time_travel.unfinished import finish_rewind
from rawko.config import ConfigError, Settings
from rawko.interpreter.errors import MigrationError
from rawko.runtime.errors import JournalError
from rawko.runtime.replay.migration import MigratedMachine, MigratedTree, migrate_tree
from rawko.runtime.replay.recorded import read_latest
from rawko.runtime.replay.rewind_records import Jump, jump_record


@dataclass(frozen=True, slots=True)
class Migration:
    """What becomes, or would become, of a run.

    Attributes:
        changed: Names of its charts that have changed.
        machines: Its machines, the root first; those whose chart is the same among them.
        problems: Why it cannot go on in today's charts.
        row: Of the journal, in which it is told; None where nothing was written.
    """

    run: str
    changed: tuple[str, ...] = ()
    machines: tuple[MigratedMachine, ...] = ()
    problems: tuple[str, ...] = ()
    row: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "changed": list(self.changed),
            "can_migrate": not self.problems,
            "problems": list(self.problems),
            "machines": [machine.to_json() for machine in self.machines],
            "row": self.row,
        }


@dataclass(frozen=True, slots=True)
class _Found:
    """A run that was looked at, and what it takes to bring it over."""

    migration: Migration
    charts: Mapping[str, str] = field(default_factory=dict)
    tree: MigratedTree | None = None
    now: float = 0.0


async def migrate_run(run: str, current: Settings, *, is_dry: bool = False) -> Migration:
    """Bring a run into today's charts.

    Args:
        is_dry: Say what would become of it, and change nothing.

    Raises:
        ConfigError: There is no such run, it cannot be read, or the disk refuses; nothing was changed.
    """
    if not is_dry:
        await finish_rewind(run, current)
        await settle(read_record(run, current))
    async with open_past(run, current) as past:
        found = await _look(past)
        if is_dry or found.migration.problems or not found.migration.changed:
            return found.migration
        keep_charts(past.record.settings, run_charts(past.record.settings, past.record.agent))
        row = await _write(past, found)
        return replace(found.migration, row=row)


async def _look(past: Past) -> _Found:
    """What would become of a run."""
    record = past.record
    charts = changed_charts(past)
    names = tuple(charts)
    problems = [problem for problem in (has_ended(record), at_work(record)) if problem]
    if not charts or problems:
        return _Found(Migration(record.run, names, problems=tuple(problems)), charts)
    fit = await past.fit()
    if fit.problem is not None or fit.lost is not None:
        lost = f"the journal of run {record.run!r} has lost rows: bring the old charts back, and resume it first"
        problem = lost if fit.problem is None else str(refusal(record.settings, record.run, fit))
        return _Found(Migration(record.run, names, problems=(problem,)), charts)
    now = time.time()
    if not past.last:  # it was killed before its first step, and begins in today's charts
        return _Found(Migration(record.run, names), charts, None, now)
    try:
        tree = await past.machines_at(past.last)
        chart, bindings, _ = past.machine
        moved = migrate_tree(tree.root, chart, bindings, now=now)
    except MigrationError as error:
        return _Found(Migration(record.run, names, problems=error.problems), charts)
    except ConfigError as error:
        return _Found(Migration(record.run, names, problems=(_not_kept(past, charts) or str(error),)), charts)
    return _Found(Migration(record.run, names, moved.machines), charts, moved, now)


def changed_charts(past: Past) -> dict[str, str]:
    """Today's hash of each chart of a run that is another one than the run goes on with, by name.

    Raises:
        ConfigError: A chart cannot be loaded.
    """
    record = past.record
    now = charts_of(record.settings, record.agent)
    return {name: now[name] for name, hash in sorted(record.charts.items()) if now.get(name, hash) != hash}


def _not_kept(past: Past, charts: Mapping[str, str]) -> str:
    """That a chart of then is nowhere to be found, where that is so."""
    missing = [name for name in charts if not past.charts.is_kept(name, past.last)]
    if not missing:
        return ""
    names = ", ".join(map(repr, missing))
    return (
        f"the charts that it began with are not kept ({names}): it was begun by an earlier rawko; bring their files "
        "back, and resume it"
    )


async def _write(past: Past, found: _Found) -> int | None:
    """Note the charts, then write the row; None where nothing has happened in the run, and no row is needed."""
    record, row = past.record, past.last + 1
    tree = found.tree
    note_migration(record, row if tree is not None else 0, found.charts)
    if tree is None:
        return None
    try:
        notes = (await read_latest(past.journal, record.run, past.last)).notes
        epoch = await past.journal.begin(record.run)
        jump = Jump("migrate", record.run, past.last, tree.snapshot, charts=tree.charts())
        made = jump_record(jump, run=record.run, seq=row, epoch=epoch, time=found.now, notes=notes)
        await past.journal.append(made)
    except JournalError as error:
        await _take_back(past, record, row)
        raise ConfigError(f"run {record.run!r} cannot be migrated: {error}") from error
    return row


async def _take_back(past: Past, record: RunRecord, row: int) -> None:
    """The record as it was, unless the row was written after all."""
    try:
        if await past.journal.last_seq(record.run) >= row:
            return
    except JournalError:
        return  # what opens the run next knows
    forget_migration(record)
