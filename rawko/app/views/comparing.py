"""Several runs side by side: what each has changed, shown, used and cost; read from record, snapshots and journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rawko.app.records.record import read_record
from rawko.app.time_travel.recorded_run import open_past
from rawko.app.views.summary import RunView, read_run
from rawko.config import ConfigError, Settings
from rawko.vocabulary.snapshot import FileChange


@dataclass(frozen=True, slots=True)
class Side:
    """One run of a comparison.

    Attributes:
        changes: Files between its first snapshot and its last.
        evidence: What its report says was found, as data (`rawko.vocabulary.evidence`).
        trees: Of its first snapshot and of its last; None where it has none.
    """

    view: RunView
    changes: tuple[FileChange, ...]
    evidence: tuple[Mapping[str, Any], ...]
    trees: tuple[str, str] | None

    @property
    def lines(self) -> tuple[int, int]:
        """Lines added and removed."""
        return sum(one.added_lines for one in self.changes), sum(one.removed_lines for one in self.changes)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.view.to_json(),
            "changes": [change.to_json() for change in self.changes],
            "evidence": [dict(one) for one in self.evidence],
            "trees": None if self.trees is None else list(self.trees),
        }


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Runs in the order in which they were named."""

    sides: tuple[Side, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that one of them has changed, sorted."""
        return tuple(sorted({change.path for side in self.sides for change in side.changes}))

    def to_json(self) -> dict[str, Any]:
        return {"runs": [side.to_json() for side in self.sides]}


async def side_by_side(runs: Sequence[str], current: Settings) -> SideBySide:
    """Two runs or more.

    Raises:
        ConfigError: Fewer than two runs, or one twice; there is no such run, or it cannot be read.
    """
    if len(runs) < 2:
        raise ConfigError("compare needs two runs or more: rawko compare RUN RUN (see `rawko runs`)")
    twice = next((run for number, run in enumerate(runs) if run in runs[:number]), None)
    if twice is not None:
        raise ConfigError(f"run {twice!r} is named twice; compare needs different runs")
    return SideBySide(tuple([await read_side(run, current) for run in runs]))


async def read_side(run: str, current: Settings) -> Side:
    """One run, as a comparison or a receipt shows it.

    Raises:
        ConfigError: There is no such run, or it cannot be read.
    """
    view = await read_run(run, current)
    report = read_record(run, current).report or {}
    async with open_past(run, current) as past:
        snapshots = past.snapshots()
        trees = (snapshots[0].tree, snapshots[-1].tree) if snapshots else None
        changes = () if trees is None or trees[0] == trees[1] else past.archive.changes(*trees)
    return Side(view, changes, tuple(report.get("evidence") or ()), trees)
