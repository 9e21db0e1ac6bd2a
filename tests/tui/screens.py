"""Stored screens of the terminal view, as text: what a person reads, and where it stands.

pytest-textual-snapshot would store them as SVG, but it needs syrupy 4.8, which refuses pytest 9.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

SCREENS: Final = Path(__file__).parent / "stored_screens"
_CHANCE: Final = (
    (re.compile(r"task-[0-9a-f]{8}"), "task-00000000"),
    (re.compile(r"\b[0-9a-f]{12,16}\b"), "0" * 12),
    (re.compile(r"\b(\d+\.\d+s|\d+:\d\d)\b *"), "T "),
    (re.compile("[▁▂▃▄▅▆▇]"), " "),
    (re.compile(r"(?<=\S) {3,}(?=\S)"), "   "),
)
"""What differs from run to run: marks of a prompt, ids of snapshots, times and gaps beside them, scroll bars."""


def steady(screen: str) -> str:
    """A screen without what differs from run to run, and without trailing blanks."""
    for pattern, instead in _CHANCE:
        screen = pattern.sub(instead, screen)
    return "\n".join(line.rstrip() for line in screen.splitlines()).rstrip() + "\n"
