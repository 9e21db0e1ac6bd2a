"""The file through which pieces of text reach those who follow a run: who reads is known by a lock, so that nothing is
written for nobody.

A follower holds a shared lock on `follow.lock`; the kernel releases that of one that was killed. The run tests the lock
while text arrives, at most five times a second, and writes pieces into `text.jsonl` while it is held: first what the
turn has said so far. A file that has grown over a bound is replaced by a new one, which readers see by its number.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from rawko.runtime.inspection import InspectionEvent

LOCK: Final = "follow.lock"
TEXTS: Final = "text.jsonl"
POLL_S: Final = 0.2
"""How often the run looks whether somebody follows, while text arrives."""
MAX_FILE_BYTES: Final = 1_000_000
MAX_TURN_CHARS: Final = 200_000
"""Of a turn's text that one who comes late is given."""
_NEW_TURN: Final = ("TURN_DONE", "AGENT_RETRY", "TURN_STOPPED")


class TextChannel:
    """Listens to a run's inspection stream, and writes the pieces of text that followers want.

    Args:
        folder: The run's own.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: TextIO | None = None
        self._row = 0
        self._said: dict[str, list[str]] = {}
        self._looked_at = 0.0
        self._is_followed = False
        self._is_broken = False

    def __call__(self, event: InspectionEvent) -> None:
        """An event of the run."""
        if event["type"] == "step" and event["row"] is not None:
            self._row = event["row"]
        elif event["type"] == "emit" and event["event"] == "TEXT_DELTA":
            self._take(event["actor"], event["data"])
        elif event["type"] == "emit" and event["event"] in _NEW_TURN:
            self._said.pop(event["actor"], None)

    def close(self) -> None:
        """Write no more; what is written stays for those who still read."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take(self, actor: str, data: Mapping[str, Any]) -> None:
        said = self._said.setdefault(actor, [])
        said.append(str(data["text"]))
        if self._is_broken:
            return
        try:
            was_followed = self._is_followed
            self._look()
            if self._is_followed:
                text = said[-1] if was_followed else "".join(said)[-MAX_TURN_CHARS:]
                self._write({"row": self._row, "agent": str(data.get("agent") or ""), "actor": actor, "text": text})
        except OSError:  # a full disk must not end the run for its spectators
            self._is_broken = True
            self.close()

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked_at >= POLL_S:
            self._looked_at = now
            self._is_followed = is_followed(self._folder)

    def _write(self, piece: Mapping[str, Any]) -> None:
        if self._file is None or self._file.tell() > MAX_FILE_BYTES:
            self.close()
            self._file = _fresh(self._folder / TEXTS)
        json.dump(piece, self._file)
        self._file.write("\n")
        self._file.flush()


def is_followed(folder: Path) -> bool:
    """Whether somebody follows the run of this folder right now."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _fresh(path: Path) -> TextIO:
    """A new file in the place of the old one, for its owner alone; who reads the old one has it to its end."""
    hidden = path.with_name(f".{path.name}")
    hidden.unlink(missing_ok=True)
    file = os.fdopen(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8")
    hidden.rename(path)
    return file
