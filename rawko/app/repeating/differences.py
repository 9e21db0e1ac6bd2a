"""What has changed since a run: its charts, its agents' tools, and the files since its last snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from rawko.app.records.record import RunRecord, check_workspace
from rawko.app.run.external_edits import edits_since, named
from rawko.app.run.requirements import charts_of, tools_of
from rawko.app.time_travel.recorded_run import open_archive
from rawko.config import ConfigError
from rawko.runtime.ports import WorkspaceError
from rawko.vocabulary.snapshot import FileChange, Snapshot


def differences(record: RunRecord) -> Iterator[str]:
    """A line for people per kind of change; none where nothing has changed.

    Raises:
        ConfigError: The workspace is missing, or a chart can no longer be used.
    """
    check_workspace(record)
    now = charts_of(record.settings, record.agent)
    changed = [name for name, digest in record.charts.items() if now.get(name, digest) != digest]
    if changed:
        yield f"charts have changed: {', '.join(sorted(changed))}"
    have = tools_of(record.settings)
    for agent, names in record.tools.items():
        gone = sorted(set(names) - set(have.get(agent, ())))
        if gone:
            yield f"agent {agent!r} no longer has these tools: {', '.join(gone)}"
    yield from _files(record)


def _files(record: RunRecord) -> Iterator[str]:
    try:
        last = _last(record)
        changes: tuple[FileChange, ...] = () if last is None else edits_since(record.settings, last)
    except (ConfigError, WorkspaceError) as error:
        yield f"its files cannot be compared: {error}"
        return
    if changes:
        yield f"files have changed: {named(tuple(change.path for change in changes))}"


def _last(record: RunRecord) -> Snapshot | None:
    with open_archive(record.settings) as archive:
        return archive.last(record.run)
