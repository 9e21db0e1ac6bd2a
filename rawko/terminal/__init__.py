"""A real program on a pseudo-terminal of its own: the adapter behind the port `Terminal` of `rawko explore`.

`keys` says what keys send, `emulator` what the program's output looks like, `process` runs it, `adapter` is all of
these. Beside them `patterns`: regular expressions on screens, bounded in time.
"""

from __future__ import annotations

from rawko.extras import require

require("agents", "rawko.terminal")

from rawko.terminal.adapter import PtyTerminal  # noqa: E402 (what it imports may be missing, which is told above)
from rawko.terminal.patterns import KillableSearch  # noqa: E402

__all__ = ["KillableSearch", "PtyTerminal"]
