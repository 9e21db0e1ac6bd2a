"""Answers by the hash of their question: a file each, in a folder that the user alone can read, bounded in number.

    state/arbiter-answers/3f/3f9c...e1.json      {"digest": sha256 of "answer", "run": id, "answer": {...}}

A file is written beside its place and then renamed, so that a killed process leaves an answer complete or absent, and
two processes do not disturb each other: files of the same name hold answers to equal questions. A file whose content
does not match its digest is removed, with a warning, and the question is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from rawko.processes.private import make_private

FOLDER: Final = "arbiter-answers"
MAX_ANSWERS: Final = 10_000
MAX_BYTES: Final = 100_000
"""Size limit of one answer; a larger one is not stored."""
_TRIM_EVERY: Final = 200
_KEY: Final = re.compile(r"[0-9a-f]{64}")

Warn = Callable[[str], None]


class AnswerStore:
    """Stores answers in a state folder.

    Args:
        warn: Called with a warning about a damaged answer, or a folder that cannot be written.
        most: Most answers that are stored; the least recently used ones are removed first.
    """

    def __init__(self, state_dir: Path, warn: Warn, *, most: int = MAX_ANSWERS) -> None:
        self._folder = state_dir / FOLDER
        self._warn = warn
        self._most = most
        self._written = 0

    def take(self, key: str) -> dict[str, Any] | None:
        """The answer for a key; None where there is none, or where it is damaged."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError:
            return None
        answer = _answer_in(data)
        if answer is None:
            self._warn(f"{path}: a damaged answer of the arbiter's cache; it is dropped, and asked for again")
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            os.utime(path)
        return answer

    def keep(self, key: str, answer: Mapping[str, Any], run: str = "") -> None:
        """Store the answer for a key; if the folder cannot be written, only a warning is given.

        Args:
            run: Id of the run that asked; the answer is removed together with this run.
        """
        path = self._path(key)
        data = json.dumps({"digest": _digest(answer), "run": run, "answer": answer}).encode()
        if len(data) > MAX_BYTES:
            return
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            for folder in (self._folder, path.parent):
                make_private(folder)
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            temporary.replace(path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            self._warn(f"{self._folder}: an answer of the arbiter cannot be kept: {error.strerror}")
            return
        self._written += 1
        if self._written % _TRIM_EVERY == 1:
            self._trim()

    def forget(self, runs: Collection[str]) -> None:
        """Remove the answers to questions of some runs, and files that cannot be read."""
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                if not _is_of_other(path.read_bytes(), runs):
                    path.unlink()

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"the key is {key!r}; accepted: 64 hexadecimal digits")
        return self._folder / key[:2] / f"{key}.json"

    def _trim(self) -> None:
        """Remove the oldest files above the limit; files that killed processes have left unfinished count, too."""
        found: list[tuple[float, Path]] = []
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                found.append((path.stat().st_mtime, path))
        found.sort(key=lambda one: one[0])
        for _, path in found[: max(len(found) - self._most, 0)]:
            with suppress(OSError):
                path.unlink()


def _answer_in(data: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(data)
        answer = told["answer"]
        return answer if isinstance(answer, dict) and told["digest"] == _digest(answer) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_of_other(data: bytes, runs: Collection[str]) -> bool:
    try:
        return json.loads(data)["run"] not in runs
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _digest(answer: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()
