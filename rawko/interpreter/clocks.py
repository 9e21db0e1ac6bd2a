"""The clocks that an interpreter accepts: sismic's classes under rawko's names."""

from __future__ import annotations

from sismic.clock import Clock, SimulatedClock, SynchronizedClock
from sismic.clock import UtcClock as WallClock

__all__ = ["Clock", "SimulatedClock", "SynchronizedClock", "WallClock"]
