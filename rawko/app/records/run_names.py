"""Names of runs: the time of their start and a random part, and of a lane the name of its run before its own. They sort
by time."""

from __future__ import annotations

import os
import secrets
import time
from typing import Final

_LANE: Final = "__"
_MAX_NAME_BYTES: Final = 255


def new_id() -> str:
    """A name such as `20261122-103005-7f2c4e1`: local date and time, then the second's 4096th and chance, in hex.

    Runs of one second come in order, too; two of the same 4096th differ by chance alone.
    """
    now = time.time()
    when = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{when}-{int(now % 1 * 4096):03x}{secrets.token_hex(2)}"


def lane_run(run: str, lane: str) -> str:
    """The id of a lane's own run: `20261122-103005-7f2c4e1__a`."""
    return f"{run}{_LANE}{lane}"


def lane_depth(run: str) -> int:
    """How many runs stand above a run, each with the next one as its lane; 0 of a run that is no lane."""
    return run.count(_LANE)


def lane_name(run: str) -> str:
    """The name of a lane, from the id of its run."""
    return run.rpartition(_LANE)[2]


def is_lane_of(run: str, above: str) -> bool:
    """Whether a run is a lane of another one, or a lane of one of its lanes."""
    return run.startswith(lane_run(above, ""))


def is_name(run: str) -> bool:
    """Whether a text can be a run's id: it names a folder of its own."""
    is_one = bool(run) and os.sep not in run and "\0" not in run and run not in (".", "..")
    return is_one and len(os.fsencode(run)) <= _MAX_NAME_BYTES
