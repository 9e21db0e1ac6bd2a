"""The plan of a run after each of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rawko.app.views.words import at, line
from rawko.runtime.journal import StepRecord
from rawko.runtime.replay.rewind_records import jump_of


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan; `words` is one line, control characters made visible."""

    words: str
    status: str


def plan_of(plan: Any) -> tuple[PlanStep, ...]:
    """A plan as a machine's context holds it: {"steps": [{"description", "status"}]}."""
    steps = at(plan, "steps")
    return tuple(
        PlanStep(line(at(step, "description") or ""), str(at(step, "status") or "pending")) for step in steps or ()
    )


def plan_after(row: StepRecord, before: tuple[PlanStep, ...]) -> tuple[PlanStep, ...]:
    """The plan after a row, which was `before` until then."""
    jump = jump_of(row)
    if jump is not None:
        return before if jump.snapshot is None else plan_of(at(jump.snapshot, "context", "plan"))
    for update in row.updates:
        fields = update.get("assign")
        if isinstance(fields, Mapping) and "plan" in fields and row.actor == "root":
            before = plan_of(fields["plan"])
    for effect in row.effects:
        if effect["type"] == "emit" and effect["event"] == "PLAN_UPDATED":
            before = plan_of(at(effect, "data", "plan"))
    return before
