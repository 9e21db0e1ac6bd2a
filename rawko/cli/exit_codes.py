"""Exit codes of `rawko` that are not a run's own (`rawko.app.run.report`); docs/command-line.md tells all of them."""

from __future__ import annotations

from typing import Final

CANNOT_WRITE: Final = 1
BAD_INPUT: Final = 2
MISSING_EXTRA: Final = 2
KILLED: Final = 130
"""What a shell reports of a program that SIGINT ended: 128 + 2."""
READER_GONE: Final = 141
"""What a shell reports of a program that SIGPIPE ended: 128 + 13."""
