"""Runs a program on its own pseudo-terminal: the adapter of the port `Terminal` of `rawko explore`.

`keys` maps keys to bytes, `emulator` turns output into a screen, `process` runs the program, `adapter` combines them.
`patterns` searches screens for regular expressions within a time limit.
"""

from __future__ import annotations

from rawko.extras import require

require("agents", "rawko.terminal")

from rawko.terminal.adapter import PtyTerminal  # noqa: E402 (what it imports may be missing, which is told above)
from rawko.terminal.patterns import KillableSearch  # noqa: E402

__all__ = ["KillableSearch", "PtyTerminal"]
