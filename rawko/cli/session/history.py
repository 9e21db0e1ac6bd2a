"""The history of inputs in a folder's sessions, in a file that only the user can read.

It has one JSON text per line, the oldest first, in the state folder outside of the project; keys are masked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from prompt_toolkit.history import History

from rawko.processes.private import FILE, append_private, make_private, narrow
from rawko.vocabulary.visible import visible

FILE_NAME: Final = "inputs.jsonl"
MAX_INPUTS: Final = 1_000
"""The most inputs that are kept; the file may have twice as many before it is cut."""
MAX_CHARS: Final = 20_000
"""Longer inputs are pastes, which are not stored."""


class InputHistory(History):
    """The inputs of a folder. If the file cannot be read or written, only the history is missing.

    Args:
        mask: Masks keys in a text.
    """

    def __init__(self, path: Path, mask: Callable[[str], str] = str) -> None:
        super().__init__()
        self._path = path
        self._mask = mask

    def load_history_strings(self) -> Iterable[str]:
        """The latest inputs, the latest first; control characters are shown as escapes."""
        return [visible(text) for text in reversed(_read(self._path)[-MAX_INPUTS:])]

    def store_string(self, string: str) -> None:
        """Store an input."""
        if len(string) > MAX_CHARS:
            return
        try:
            make_private(self._path.parent)
            kept = _read(self._path)
            if len(kept) >= 2 * MAX_INPUTS:
                self._path.write_text("".join(map(_line, kept[-MAX_INPUTS:])), encoding="utf-8")
                narrow(self._path, FILE)
            with append_private(self._path) as file:
                file.write(_line(self._mask(string)))
        except OSError:
            pass


def _line(text: str) -> str:
    return json.dumps(text) + "\n"


def _read(path: Path) -> list[str]:
    """The texts of the file; invalid lines are left out."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            text = json.loads(line)
        except ValueError:
            continue
        if isinstance(text, str):
            found.append(text)
    return found
