"""The file through which a run passes pieces of text, and the latest output of a running command, to its followers.

It is written only while a follower holds a lock.

A follower holds a shared lock on `follow.lock`; the kernel releases it when the follower is killed. The run tests the
lock while text arrives, at most five times a second, and appends pieces to `text.jsonl` while the lock is held, first
the turn's text so far. A file that exceeds a limit is replaced by a new one; readers see the new inode.
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
from rawko.vocabulary.masking import Masker

LOCK: Final = "follow.lock"
TEXTS: Final = "text.jsonl"
POLL_S: Final = 0.2
"""Seconds between two tests for followers, while text arrives."""
MAX_FILE_BYTES: Final = 1_000_000
MAX_TURN_CHARS: Final = 200_000
"""The most characters of the turn's earlier text that a late follower gets."""
_NEW_TURN: Final = ("TURN_DONE", "AGENT_RETRY", "TURN_STOPPED")


class TextChannel:
    """Observes a run's inspection stream, and writes pieces of text for its followers.

    Args:
        folder: The run's folder.
        masker: Takes the session's keys out of what commands print.
    """

    def __init__(self, folder: Path, masker: Masker | None = None) -> None:
        self._folder = folder
        self._masker = masker or Masker({})
        self._file: TextIO | None = None
        self._row = 0
        self._said: dict[str, list[str]] = {}
        self._looked_at = 0.0
        self._is_followed = False
        self._is_broken = False

    def __call__(self, event: InspectionEvent) -> None:
        """Handle an event of the run."""
        if event["type"] == "step" and event["row"] is not None:
            self._row = event["row"]
        elif event["type"] == "emit" and event["event"] == "TEXT_DELTA":
            self._take(event["actor"], event["data"])
        elif event["type"] == "emit" and event["event"] == "TOOL_OUTPUT":
            self._output(event["actor"], event["data"])
        elif event["type"] == "emit" and event["event"] in _NEW_TURN:
            self._said.pop(event["actor"], None)

    def close(self) -> None:
        """Stop writing; the file stays for followers that still read."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take(self, actor: str, data: Mapping[str, Any]) -> None:
        said = self._said.setdefault(actor, [])
        said.append(str(data["text"]))
        was_followed = self._is_followed
        if self._has_followers():
            text = said[-1] if was_followed else "".join(said)[-MAX_TURN_CHARS:]
            self._write({"row": self._row, "agent": str(data.get("agent") or ""), "actor": actor, "text": text})

    def _output(self, actor: str, data: Mapping[str, Any]) -> None:
        """Each event holds the end of all output so far: a follower that comes late needs no earlier one."""
        if self._has_followers():
            tail = self._masker.text(str(data["tail"]))
            given = {"call": str(data["id"]), "output": tail, "bytes": int(data["bytes"])}
            self._write({"row": self._row, "agent": str(data.get("agent") or ""), "actor": actor, **given})

    def _has_followers(self) -> bool:
        if self._is_broken:
            return False
        try:
            self._check_followers()
        except OSError:
            self._give_up()
        return self._is_followed and not self._is_broken

    def _give_up(self) -> None:
        """A full disk must not end the run because of its followers."""
        self._is_broken = True
        self.close()

    def _check_followers(self) -> None:
        now = time.monotonic()
        if now - self._looked_at >= POLL_S:
            self._looked_at = now
            self._is_followed = is_followed(self._folder)

    def _write(self, piece: Mapping[str, Any]) -> None:
        try:
            if self._file is None or self._file.tell() > MAX_FILE_BYTES:
                self.close()
                self._file = _fresh(self._folder / TEXTS)
            json.dump(piece, self._file)
            self._file.write("\n")
            self._file.flush()
        except OSError:
            self._give_up()


def is_followed(folder: Path) -> bool:
    """Whether a process follows the run of this folder now."""
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
    """A new file in place of the old one, for its owner alone; readers of the old one can read it to its end."""
    hidden = path.with_name(f".{path.name}")
    hidden.unlink(missing_ok=True)
    file = os.fdopen(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8")
    hidden.rename(path)
    return file
