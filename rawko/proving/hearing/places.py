"""Where a run of a macrostep has asked."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple


class Place(NamedTuple):
    """Where a run has asked, with nothing known of its data: microsteps and answers before it."""

    key: Hashable
    steps: int
    answers: int
