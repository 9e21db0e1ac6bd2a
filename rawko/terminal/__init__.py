"""A real program on a pseudo-terminal of its own: the adapter behind the port `Terminal` of `rawko explore`.

`keys` says what keys send, `emulator` what the program's output looks like, `process` runs it, `adapter` is all of
these. Beside them `patterns`: regular expressions on screens, bounded in time.
"""

from __future__ import annotations

from rawko.terminal.adapter import PtyTerminal
from rawko.terminal.patterns import KillableSearch

__all__ = ["KillableSearch", "PtyTerminal"]
