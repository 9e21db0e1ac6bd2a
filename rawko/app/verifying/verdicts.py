"""What monitors say of a recorded run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from rawko.runtime.replay.watching import Found


class Verdict(Enum):
    """What a monitor comes to over a whole run.

    OPEN: something is owed that may still come: the run has not ended. VACUOUS: nothing has happened that the monitor
    speaks of. UNDETERMINED: a function of the monitor has failed, or the run cannot be stepped through.
    """

    HOLDS = "holds"
    VIOLATED = "violated"
    OPEN = "open"
    VACUOUS = "vacuous"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Told:
    """An objection of a monitor, and whether the run was set back to before it since."""

    found: Found
    is_undone: bool = False

    def to_json(self) -> dict[str, Any]:
        found, objection = self.found, self.found.objection
        return {
            "run": found.run,
            "step": found.step,
            "time": found.time,
            "actor": found.actor,
            "event": found.event,
            "state": None if objection is None else objection.state,
            "description": None if objection is None else objection.description,
            "is_duty": objection is not None and objection.is_duty,
            "problem": found.problem,
            "is_undone": self.is_undone,
        }


@dataclass(frozen=True, slots=True)
class MonitorVerdict:
    """What one monitor says of one run.

    Attributes:
        machines: How many machines it has watched.
        objections: In order; those that were undone among them.
        owed: What is still owed: path of the machine and state of the monitor.
        problem: Why nothing is known from some step on.
    """

    monitor: str
    verdict: Verdict
    machines: int = 0
    objections: tuple[Told, ...] = ()
    owed: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "monitor": self.monitor,
            "verdict": self.verdict.value,
            "machines": self.machines,
            "objections": [told.to_json() for told in self.objections],
            "owed": [{"actor": actor, "state": state} for actor, state in self.owed],
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """All monitors over one run. `steps`: rows that were stepped through; `notes`: what is not known."""

    run: str
    steps: int
    verdicts: tuple[MonitorVerdict, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "steps": self.steps,
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "notes": list(self.notes),
        }
