"""Ids of runs: start time and a random part; for a lane, its parent run's id and its name. They sort by time."""

from __future__ import annotations

import os
import secrets
import time
from typing import Final

_LANE: Final = "__"
_MAX_NAME_BYTES: Final = 255


def new_id() -> str:
    """A new id such as `20261122-103005-7f2c4e1`: date and time, then, in hex, 4096ths of the second and a random part.

    Ids of one second sort by time, too; ids of the same 1/4096th of a second differ by the random part.
    """
    now = time.time()
    when = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{when}-{int(now % 1 * 4096):03x}{secrets.token_hex(2)}"


def lane_run(run: str, lane: str) -> str:
    """The id of a lane's run: `20261122-103005-7f2c4e1__a`."""
    return f"{run}{_LANE}{lane}"


def lane_depth(run: str) -> int:
    """Number of runs above a run, each of which has the next one as a lane; 0 for a run that is no lane."""
    return run.count(_LANE)


def lane_name(run: str) -> str:
    """The name of a lane, from the id of its run."""
    return run.rpartition(_LANE)[2]


def is_lane_of(run: str, above: str) -> bool:
    """Whether a run is a lane of another one, or a lane of one of its lanes."""
    return run.startswith(lane_run(above, ""))


def is_name(run: str) -> bool:
    """Whether a text can be a run's id, that is, the name of a single folder."""
    is_one = bool(run) and os.sep not in run and "\0" not in run and run not in (".", "..")
    return is_one and len(os.fsencode(run)) <= _MAX_NAME_BYTES
