"""What one process tells another that has a run at work: cancel it, or here is the answer that it waits for.

A message is a file in the run's folder, written whole, read in order and removed once the machine has taken it. So
nobody needs to know or to signal a process, which may be in another container or have ended and left its id to others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from rawko.app.record import RunRecord, runs_folder
from rawko.config import ConfigError, Settings
from rawko.workspace.archive import user_of

POLL_S: Final = 0.2
"""How often the owner of a run looks for mail: one look at a folder that mostly is not there."""
_FOLDER: Final = "mail"


@dataclass(frozen=True, slots=True)
class Letter:
    """One message: `kind` is "cancel" or "answer"."""

    kind: str
    who: str
    text: str
    path: Path

    def burn(self) -> None:
        """It has been taken."""
        self.path.unlink(missing_ok=True)


def is_at_work(settings: Settings, run: str) -> bool:
    """Whether some process has the run at work right now; the system forgets those that have died."""
    return user_of(settings.state_dir / "snapshots", run) is not None


def outcome_now(record: RunRecord) -> str:
    """What became of a run; "running" while some process has it at work."""
    is_open = record.outcome == "interrupted"
    return "running" if is_open and is_at_work(record.settings, record.run) else record.outcome


def leave(settings: Settings, run: str, kind: str, *, who: str, text: str = "") -> None:
    """Leave a message for the process that has the run at work.

    Raises:
        ConfigError: It cannot be written.
    """
    folder = _folder(settings, run)
    name = f"{time.time_ns():020}-{uuid4().hex[:8]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        hidden = folder / f".{name}"
        hidden.write_text(json.dumps({"kind": kind, "who": who, "text": text}), encoding="utf-8")
        hidden.rename(folder / f"{name}.json")
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error


def waiting(settings: Settings, run: str) -> Iterator[Letter]:
    """The messages for a run, oldest first; what is none is removed."""
    folder = _folder(settings, run)
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return
    for path in paths:
        letter = _read(path)
        if letter is None:
            path.unlink(missing_ok=True)
        else:
            yield letter


def discard(settings: Settings, run: str) -> None:
    """Burn what was left for a process that is no more: it was meant for that moment."""
    for letter in waiting(settings, run):
        letter.burn()


def _folder(settings: Settings, run: str) -> Path:
    return runs_folder(settings.state_dir) / run / _FOLDER


def _read(path: Path) -> Letter | None:
    try:
        data: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Letter(str(data["kind"]), str(data["who"]), str(data["text"]), path)
    except (OSError, ValueError, KeyError, TypeError):
        return None
