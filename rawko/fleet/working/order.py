"""What a worker and the process of one run tell each other, over a pipe.

to the process    Order (first), then letters, "drain", "fenced", and a sign of life every second
to the worker     Progress, Taken, Said, and at the end Result
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from rawko.fleet.records import Letter

DRAIN: Final = "drain"
FENCED: Final = "fenced"
ALIVE: Final = "alive"


@dataclass(frozen=True, slots=True)
class Order:
    """A run to be begun or gone on with.

    Attributes:
        task: As of `FleetTask.to_json`.
        folder: Of all workspaces of this worker.
        steps: Rows of its journal so far; `place`: where an earlier attempt has left its files, if there was one.
        tenant: Whose task it is.
        environ: Of rawko, keys included; the journal's address is the fleet's.
        is_sandboxed: The worker's own rule, whatever the task says.
        began_with: The release of rawko that has begun the run; None where it has not begun, or that is not known.
    """

    run: str
    tenant: str
    task: Mapping[str, Any]
    folder: str
    steps: int
    place: Mapping[str, Any] | None
    environ: Mapping[str, str]
    is_sandboxed: bool
    letters: tuple[Letter, ...] = ()
    began_with: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run is: rows of its journal; and its state folder, once that is known.

    Attributes:
        release: Of the rawko that begins it now; None where it has begun before.
    """

    steps: int
    workspace: str | None = None
    state: str | None = None
    release: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A letter that the run has got; it is not given again."""

    letter: int


@dataclass(frozen=True, slots=True)
class Said:
    """A warning of the run, for the worker's people."""

    line: str


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the attempt.

    Attributes:
        kind: "ended" and "waiting" have a report; "again": let go of, to go on elsewhere; "left": to a worker of the
            release that it began with; "resting": an event or a timer moves it on; "failed" may pass; "hopeless" will
            not.
        reason: Of "left", "failed" and "hopeless"; of "again" where the run waits for something.
        wait_s: Of "resting": until its next timer; None where only an event moves it on.
    """

    kind: Literal["ended", "waiting", "again", "left", "resting", "failed", "hopeless"]
    outcome: str = ""
    reason: str = ""
    report: Mapping[str, Any] | None = None
    wait_s: float | None = None
