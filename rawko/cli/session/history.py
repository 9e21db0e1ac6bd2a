"""What a person has typed in the sessions of a folder: a file of their own, which is read by them alone.

One JSON text per line, the oldest first. It lies in the state folder, outside of the project; keys are masked.
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
"""Inputs that are kept; twice as many lie in the file before it is cut."""
MAX_CHARS: Final = 20_000
"""Longer inputs are pastes: they are not kept."""


class InputHistory(History):
    """The inputs of a folder. A file that cannot be read or written costs the history alone.

    Args:
        mask: Takes keys out of a text.
    """

    def __init__(self, path: Path, mask: Callable[[str], str] = str) -> None:
        super().__init__()
        self._path = path
        self._mask = mask

    def load_history_strings(self) -> Iterable[str]:
        """The latest inputs, the latest first; what would move a terminal's cursor is shown as an escape."""
        return [visible(text) for text in reversed(_read(self._path)[-MAX_INPUTS:])]

    def store_string(self, string: str) -> None:
        """Keep an input."""
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
    """Texts of a file; lines that are none are left out."""
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
