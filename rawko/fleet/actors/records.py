"""What is known of an actor in a queue, as its users see it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rawko.fleet.records import TaskRecord
from rawko.fleet.task import OF_ACTORS

ActorState = Literal["queued", "running", "waiting", "ended", "dead"]


@dataclass(frozen=True, slots=True)
class Queued:
    """An actor that was submitted.

    Attributes:
        is_new: False where it was there already.
    """

    id: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class ActorRecord:
    """An actor in a queue.

    Attributes:
        state: "queued", "running" on a worker, "waiting" for an event or its next timer, "ended", or "dead": what was
            tried too often, until it is queued again.
        outcome: Of one that has ended: "done" or "cancelled"; else None.
        output: Of the machine, once it is done.
        configuration: Its states when it was done.
        reason: Why it is dead or was cancelled, or why its latest attempt has failed.
        steps: Rows of its journal, as far as the worker has told.
        failures: Attempts in a row that failed and did not come far; `takeovers`: those whose worker was gone.
        worker: The one that has it.
        age_s, changed_s: Seconds since it was submitted, and since its latest change, by the database's clock.
    """

    id: str
    kind: str
    tenant: str
    priority: int
    state: ActorState
    outcome: str | None
    output: Any
    configuration: Sequence[str]
    reason: str | None
    steps: int
    failures: int
    takeovers: int
    worker: str | None
    age_s: float
    changed_s: float

    @property
    def is_over(self) -> bool:
        """Whether nothing more will become of it by itself: it has ended, or is dead."""
        return self.state in ("ended", "dead")


def actor_record(task: TaskRecord) -> ActorRecord:
    """A task of the fleet that is an actor."""
    report = task.report or {}
    output = report.get("output")
    return ActorRecord(
        task.run,
        task.queue.removeprefix(OF_ACTORS),
        task.tenant,
        task.priority,
        task.state,
        task.outcome if task.state == "ended" else None,
        None if output is None else json.loads(output),
        tuple(report.get("configuration", ())),
        task.reason,
        task.steps,
        task.failures,
        task.takeovers,
        task.worker,
        task.age_s,
        task.changed_s,
    )
