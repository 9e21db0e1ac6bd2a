"""A place at which a run of a macrostep has asked a guard."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple


class Place(NamedTuple):
    """A place at which a run has asked with unknown data; `steps` and `answers` count those before it."""

    key: Hashable
    steps: int
    answers: int
