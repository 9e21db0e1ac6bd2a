"""A clock for what counts a run's time, moved by the test."""

from __future__ import annotations


class Hand:
    """A clock that is moved by hand: `hand.now += 5` lets five seconds pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now
