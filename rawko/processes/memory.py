"""Python's garbage collector in a process that works for long: what is loaded is left alone.

The modules of a run hold some 500 000 objects that live as long as the process. Python looks at them again with every
full collection, and at the young ones every 700 allocations, also while they are being loaded.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG: Final = 20_000
"""Objects that are made and not freed before the youngest are looked at; Python's own bound is 700."""


@contextmanager
def loading() -> Iterator[None]:
    """Collect nothing while modules load: almost nothing of what loading makes is garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def leave_loaded_alone() -> None:
    """Take what is there now out of all later collections, and look at young objects less often."""
    gc.enable()
    gc.freeze()
    _, middle, old = gc.get_threshold()
    gc.set_threshold(YOUNG, middle, old)
