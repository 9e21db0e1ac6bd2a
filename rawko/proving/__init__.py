"""Exhaustive checking of a chart: explores every reachable configuration, and checks properties in all of them."""

from __future__ import annotations

from rawko.proving.bounds import NO_BOUNDS, Bounds, BoundsError, read_bounds
from rawko.proving.control import ControlStep, TooManyChoices
from rawko.proving.exploring.exploration import Exploration, explore
from rawko.proving.monitoring.monitor import MonitorStep, heard_by
from rawko.proving.monitoring.product import check_monitor
from rawko.proving.outcomes import Outcome
from rawko.proving.properties import PROPERTIES, Finding, Verdict, check_properties
from rawko.proving.replaying import replay
from rawko.proving.system import ControlSystem, Move, SystemState

__all__ = [
    "NO_BOUNDS",
    "PROPERTIES",
    "Bounds",
    "BoundsError",
    "ControlStep",
    "ControlSystem",
    "Exploration",
    "Finding",
    "MonitorStep",
    "Move",
    "Outcome",
    "SystemState",
    "TooManyChoices",
    "Verdict",
    "check_monitor",
    "check_properties",
    "explore",
    "heard_by",
    "read_bounds",
    "replay",
]
