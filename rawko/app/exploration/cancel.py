"""Ending an exploration from outside: whoever has it at work is told by a file in its folder; one that was interrupted
is ended where it stands, with what its program has left running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from rawko.app.exploration.endings import CANCELLED
from rawko.app.exploration.record import ExplorationRecord, explorations_folder
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
"""How often whoever has an exploration at work looks whether he is told to end it."""
_NAME: Final = "cancel"


def tell_to_cancel(folder: Path) -> None:
    """Tell the process that has the exploration of this folder at work.

    Raises:
        ConfigError: The folder cannot be written.
    """
    try:
        (folder / _NAME).touch()
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error


def forget_cancel(folder: Path) -> None:
    """What was meant for a process that is no more is no concern of ours."""
    (folder / _NAME).unlink(missing_ok=True)


async def listen(folder: Path, cancel: Callable[[], None]) -> None:
    """Until somebody tells to cancel; then do."""
    while not (folder / _NAME).exists():  # noqa: ASYNC110 - a look at one name, which costs microseconds
        await asyncio.sleep(POLL_S)
    cancel()


def end_interrupted(settings: Settings, run: str) -> Mapping[str, Any]:
    """The report of an exploration that nobody has at work, and that is cancelled by this.

    Raises:
        ConfigError: Somebody has it at work, it has ended, or its record cannot be read or written.
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
    """What the model has used, as far as it was noted with a decision."""
    notes = Memory.model_validate(state.data).notes or {}
    return sum((Usage.model_validate(used) for used in notes.get("usage", {}).values()), Usage())
