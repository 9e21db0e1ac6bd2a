"""Cancels an exploration from another process: by a file in its folder if a process runs it; directly, with the
processes that its program has left, if it was interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from rawko.app.exploration.endings import CANCELLED
from rawko.app.exploration.places import explorations_folder
from rawko.app.exploration.record import ExplorationRecord
from rawko.app.exploration.report import report_of
from rawko.config import ConfigError, Settings
from rawko.machines.node_engine.context import RunReport, RunState
from rawko.machines.node_engine.explore.deciding import Memory
from rawko.machines.node_engine.explore.nodes import LAUNCH
from rawko.processes import family
from rawko.runtime.ports import WorkspaceError
from rawko.terminal.process import marked
from rawko.tools.commands.leftovers import Leftovers
from rawko.vocabulary.usage import Usage
from rawko.workspace.repository.locks import FileLock

POLL_S: Final = 0.2
"""Seconds between two checks for the cancel file, in the process that runs an exploration."""
_NAME: Final = "cancel"


def request_cancel(folder: Path) -> None:
    """Ask the process that runs the exploration of this folder to cancel it.

    Raises:
        ConfigError: The folder cannot be written.
    """
    try:
        (folder / _NAME).touch()
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error


def drop_cancel_request(folder: Path) -> None:
    """Remove the cancel file; a request that was addressed to an ended process is dropped."""
    (folder / _NAME).unlink(missing_ok=True)


async def wait_for_cancel(folder: Path, cancel: Callable[[], None]) -> None:
    """Wait for the cancel file, then call `cancel`."""
    while not (folder / _NAME).exists():  # noqa: ASYNC110 - one lookup of a name, which takes microseconds
        await asyncio.sleep(POLL_S)
    cancel()


def end_interrupted(settings: Settings, run: str) -> Mapping[str, Any]:
    """Cancel an exploration that no process runs; returns its report.

    Raises:
        ConfigError: A process runs it, it has ended, or its record cannot be read or written.
    """
    folder = explorations_folder(settings.state_dir) / run
    lock = FileLock(folder.with_name(f"{run}.lock"))
    try:
        lock.acquire(f"exploration {run!r}")
        plan, record = ExplorationRecord.read(folder)
        if (ended := record.report()) is not None:
            raise ConfigError(f"exploration {run!r} has ended already ({ended['outcome']})")
        Leftovers(folder / "running").end_all()
        family.end(marked(run))
        state = record.last_state or RunState(node_name=LAUNCH)
        stopped = RunReport(run_id=run, outcome="stopped", reason=CANCELLED, state=state)
        usage = _usage(state)
        report = report_of(run, plan, stopped, record, usage, None if usage.calls else 0.0).to_json()
        report["duration_ms"] = max(plan.worked_ms, record.attempts[-1].worked_ms if record.attempts else 0)
        record.write_report(report)
        return report
    except WorkspaceError as error:
        raise ConfigError(error.message) from error
    finally:
        lock.release()


def _usage(state: RunState) -> Usage:
    """The model's usage, as recorded with its decisions."""
    notes = Memory.model_validate(state.data).notes or {}
    return sum((Usage.model_validate(used) for used in notes.get("usage", {}).values()), Usage())
