"""The clocks that an interpreter may be given: sismic's, by rawko's names."""

from __future__ import annotations

from sismic.clock import Clock, SimulatedClock, SynchronizedClock
from sismic.clock import UtcClock as WallClock

__all__ = ["Clock", "SimulatedClock", "SynchronizedClock", "WallClock"]
