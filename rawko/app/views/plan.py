"""The plan of a run after each of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rawko.app.views.words import at, line
from rawko.runtime.journal import StepRecord
from rawko.runtime.replay.rewind_records import jump_of


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan; `words` is one line, control characters made visible.

    Attributes:
        agent: Who worked on it; "" where the plan names none.
    """

    words: str
    status: str
    agent: str = ""


def plan_of(plan: Any) -> tuple[PlanStep, ...]:
    """A plan as a machine's context holds it: {"steps": [{"description", "status"}]}."""
    steps = at(plan, "steps")
    return tuple(
        PlanStep(
            line(at(step, "description") or ""),
            str(at(step, "status") or "pending"),
            line(str(at(step, "agent_used") or "")),
        )
        for step in steps or ()
    )


def plan_in(snapshot: Any) -> tuple[PlanStep, ...]:
    """The plan in a snapshot of the machines: that of the agent at work, else the root's."""
    for child in (at(snapshot, "children") or {}).values():
        found = plan_in(child)
        if found:
            return found
    return plan_of(at(snapshot, "context", "plan"))


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


@dataclass(slots=True)
class PlanHistory:
    """Every plan that a run had, each with the number of the row that made it so.

    Attributes:
        changes: In the order of the rows; a plan without steps stands for none.
    """

    changes: list[tuple[int, tuple[PlanStep, ...]]] = field(default_factory=list)

    def take(self, row: StepRecord) -> None:
        """Go on with the next row."""
        before = self.changes[-1][1] if self.changes else ()
        plan = plan_after(row, before)
        if plan != before:
            self.changes.append((row.seq, plan))

    def to_json(self, after: int = 0) -> list[Any]:
        """[[row, [[words, status, agent], ...]], ...] of the rows after a number."""
        return [
            [number, [[step.words, step.status, step.agent] for step in plan]]
            for number, plan in self.changes
            if number > after
        ]
