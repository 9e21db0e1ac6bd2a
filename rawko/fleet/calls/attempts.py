"""Counts failed attempts of a run, and decides when it counts as dead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from rawko.fleet import records
from rawko.fleet.records import TaskRecord

MAX_FAILURES: Final = 3
"""Failed attempts in a row with little progress after which a run counts as dead."""
MIN_STEPS: Final = 5
"""Journal rows that an attempt must exceed to count as progress: repeating a tool call makes some rows by itself."""
MAX_TAKEOVERS: Final = 10
"""The same for attempts whose worker died: more, since kills and restarts of machines are not the run's fault."""


def failed(
    connection: Connection, task: TaskRecord, reason: str, steps: int, *, is_lost: bool = False
) -> dict[str, Any]:
    """Changed values after a failed attempt; if it made progress, it is the first of a new series of failures.

    Args:
        is_lost: Its worker died.
    """
    has_moved = steps - records.steps_before(connection, task.run) > MIN_STEPS
    failures, takeovers = (0, 0) if has_moved else (task.failures, task.takeovers)
    return {"failures": failures + (not is_lost), "takeovers": takeovers + is_lost, "reason": reason}


def is_hopeless(values: Mapping[str, Any]) -> bool:
    """Whether a run has failed too often, after the changes of `failed`."""
    return bool(values["failures"] >= MAX_FAILURES or values["takeovers"] >= MAX_TAKEOVERS)
