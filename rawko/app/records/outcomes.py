"""Classifies the outcomes of runs: ended, open, or waiting."""

from __future__ import annotations

from typing import Final

from rawko.app.records.record import RunRecord

ENDED: Final = ("success", "failure", "limit", "cancelled")
"""Outcomes of runs that can be followed; a run that waits has to be answered or cancelled first."""
FORKED: Final = "forked"
"""Outcome of a fork that has not been resumed yet."""
REWOUND: Final = "rewound"
"""Outcome of a run that was rewound and has not been resumed since."""


def is_parked(record: RunRecord) -> bool:
    """Whether a run's machine waits for a person or a budget, even if its report says that a limit was reached."""
    report = record.report or {}
    is_for_budget = (report.get("question") or {}).get("kind") == "budget"  # an agent or a lane of the run waits
    return record.outcome == "needs_person" or report.get("state") == "out_of_budget" or is_for_budget


def is_open(record: RunRecord) -> bool:
    """Whether a run has not ended: it was interrupted, waits, or has used up its budget and can get more."""
    return record.outcome not in ENDED or is_parked(record)
