"""Rows that are no step of a machine: a run was set back to an earlier step, begun from a step of another run, or
brought into another version of its charts.

Such a row holds the whole tree of machines as a snapshot, so that what comes after it needs nothing before it; what
stands before it stays where it is. Nothing here reads or writes a journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from rawko.runtime.journal import StepRecord

ACTOR: Final = "run"
"""In the place of an actor's path, which begins with "root"."""
_PREFIX: Final = "rawko."
JumpKind = Literal["rewind", "files", "fork", "adopt", "migrate"]


@dataclass(frozen=True, slots=True)
class Jump:
    """What such a row says.

    Attributes:
        kind: "rewind": machines, conversation and files; "files": the files alone; "fork": the first row of a run;
            "adopt": another run's changes were brought into the files; "migrate": the machines went on in other
            versions of their charts.
        run, step: Where it went: a step of this run, or of the parent; for "adopt" a step of the other run, 0 where
            its files were named by a snapshot; for "migrate" the latest step before.
        snapshot: Of the whole tree of machines, from which it goes on; None for "files" and "adopt".
        files: Commit of the workspace snapshot that the files are now.
        safety: Commit that holds the workspace as it was before; None where nothing was there.
        charts: Of a migration: for each chart by name what it was and is (`hash`, `version`), `from` and `to`.
    """

    kind: JumpKind
    run: str
    step: int
    snapshot: Mapping[str, Any] | None = None
    files: str | None = None
    safety: str | None = None
    charts: Mapping[str, Any] | None = None


def jump_record(
    jump: Jump, *, run: str, seq: int, epoch: int, time: float, notes: dict[str, Any] | None = None
) -> StepRecord:
    """The journal row of a jump."""
    data = {
        "run": jump.run,
        "step": jump.step,
        "files": jump.files,
        "safety": jump.safety,
        "snapshot": None if jump.snapshot is None else dict(jump.snapshot),
    }
    if jump.charts is not None:
        data["charts"] = dict(jump.charts)
    states = () if jump.snapshot is None else tuple(jump.snapshot["configuration"])
    return StepRecord(
        run=run,
        seq=seq,
        epoch=epoch,
        actor=ACTOR,
        time=time,
        event={"name": _PREFIX + jump.kind, "data": data},
        receipt=None,
        updates=(),
        effects=(),
        configuration=states,
        notes=notes,
    )


def jump_of(record: StepRecord) -> Jump | None:
    """What a row says, if it is such a row."""
    if record.actor != ACTOR or record.event is None:
        return None
    kind: Any = record.event["name"].removeprefix(_PREFIX)
    data = record.event["data"]
    return Jump(kind, data["run"], data["step"], data["snapshot"], data["files"], data["safety"], data.get("charts"))


def moved_in_time(snapshot: Mapping[str, Any], now: float) -> dict[str, Any]:
    """The snapshot as if it had been taken `now`: what a timer had left then, it has left from now on.

    Without that a deadline of a step of yesterday would be over before anything could happen.
    """
    passed = now - float(snapshot["now"])
    return moved_by(snapshot, passed)


def moved_by(snapshot: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """The snapshot as if it had been taken so many seconds later."""
    return {
        **snapshot,
        "now": snapshot["now"] + seconds,
        "external": [[time + seconds, *rest] for time, *rest in snapshot["external"]],
        "timers": [[due + seconds, *rest] for due, *rest in snapshot["timers"]],
        "invocations": [{**i, "started": i["started"] + seconds} for i in snapshot["invocations"]],
        "entry": {state: time + seconds for state, time in snapshot["entry"].items()},
        "idle": {state: time + seconds for state, time in snapshot["idle"].items()},
        "children": {id: moved_by(child, seconds) for id, child in snapshot["children"].items()},
    }
