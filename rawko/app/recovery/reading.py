"""Reads the stored facts about a run and has them judged for consistency; changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rawko.app.records.journal import nothing_left, open_journal
from rawko.app.records.outcomes import is_open
from rawko.app.records.record import RunRecord, has_report, read_record
from rawko.app.recovery.consistency import NO_SNAPSHOTS, Fit, Lost, StoredFacts, check_consistency
from rawko.app.recovery.last_tool import read_begun
from rawko.app.run.inbox import is_at_work
from rawko.config import ConfigError, Settings
from rawko.runtime.errors import JournalError
from rawko.runtime.journal import Journal
from rawko.runtime.ports import WorkspaceError
from rawko.runtime.replay.recorded import Recorded, read_latest
from rawko.workspace.repository.archive import Archive
from rawko.workspace.repository.repository import store_folder

if TYPE_CHECKING:
    from rawko.workspace.repository.history import Link

DAMAGED = "damaged"
"""The state of a run that has not ended and cannot be resumed, because its stores are inconsistent."""


def known_snapshot(recorded: Recorded) -> str | None:
    """Commit of the latest snapshot that a run's journal names."""
    commit = (recorded.notes or {}).get("snapshot")
    return commit if isinstance(commit, str) else None


def fit_of(record: RunRecord, recorded: Recorded, chain: Sequence[Link]) -> Fit:
    """Whether record, journal and snapshots of a run are consistent."""
    settings, run = record.settings, record.run
    return check_consistency(
        StoredFacts(
            last=recorded.last_seq,
            known=known_snapshot(recorded),
            chain=chain,
            begun=read_begun(settings, run),
            has_report=has_report(settings, run),
            rewinds=tuple(row for row, _ in record.rewinds),
        )
    )


def check_store(settings: Settings, run: str) -> None:
    """Check that there is a snapshot store, before an empty one would be created in its place.

    Raises:
        ConfigError: There is none.
    """
    if not store_folder(settings.state_dir / "snapshots").is_dir():
        raise refusal(settings, run, Fit(NO_SNAPSHOTS))


async def find(record: RunRecord, journal: Journal, archive: Archive) -> Fit:
    """As `fit_of`, with the facts read from journal and archive.

    Raises:
        JournalError: The journal cannot be read.
        WorkspaceError: A snapshot that the check needs cannot be read.
    """
    recorded = await read_latest(journal, record.run, await journal.last_seq(record.run))
    return fit_of(record, recorded, archive.chain(record.run, known_snapshot(recorded)))


def refusal(settings: Settings, run: str, fit: Fit) -> ConfigError:
    """The error that says why a run cannot be resumed, and how to repair its stores."""
    assert fit.problem is not None
    told = nothing_left(settings, run, fit.problem)
    remedy = "put the whole state folder back from one and the same copy"
    return ConfigError(f"{told}; nothing was run or changed. To go on, {remedy}; `rawko log {run}` tells what is left")


async def lost_by(run: str, settings: Settings) -> Lost | None:
    """Whether the journal of a followed run has lost its last rows: its conversation is then older than its files."""
    record = read_record(run, settings)
    journal = open_journal(settings)
    try:
        return (await _find(record, journal)).lost
    finally:
        await journal.aclose()


async def _find(record: RunRecord, journal: Journal) -> Fit:
    """As `find`; a store that cannot be read is a problem, too."""
    place = record.settings.state_dir / "snapshots"
    if not store_folder(place).is_dir():
        return Fit(NO_SNAPSHOTS)
    try:
        with Archive(place) as archive:
            return await find(record, journal, archive)
    except WorkspaceError as error:
        return Fit(error.message)
    except JournalError as error:
        return Fit(str(error))


async def problems(records: Sequence[RunRecord], current: Settings) -> dict[str, str]:
    """Why runs that have not ended cannot be resumed, by run; runs that are running or cannot be read are left out."""
    open_ones = [record for record in records if is_open(record) and not is_at_work(current, record.run)]
    if not open_ones:
        return {}
    found: dict[str, str] = {}
    try:
        journal = open_journal(current)
    except ConfigError:
        return {}
    try:
        for record in open_ones:
            fit = await _find(record, journal)
            if fit.problem is not None:
                found[record.run] = fit.problem
    finally:
        await journal.aclose()
    return found
