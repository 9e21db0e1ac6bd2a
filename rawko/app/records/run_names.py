"""Names of runs: the time of their start and a random part. They sort by time."""

from __future__ import annotations

import secrets
import time


def new_id() -> str:
    """A name such as `20261122-103005-7f2c4e1`: local date and time, then the second's 4096th and chance, in hex.

    Runs of one second come in order, too; two of the same 4096th differ by chance alone.
    """
    now = time.time()
    when = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{when}-{int(now % 1 * 4096):03x}{secrets.token_hex(2)}"
