"""Exhaustive checking of a chart: every configuration that it can reach, and what holds in all of them."""

from __future__ import annotations

from rawko.proving.bounds import NO_BOUNDS, Bounds, BoundsError, read_bounds
from rawko.proving.control import ControlStep, Outcome, TooManyChoices
from rawko.proving.exploring.exploration import Exploration, explore
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
    "Move",
    "Outcome",
    "SystemState",
    "TooManyChoices",
    "Verdict",
    "check_properties",
    "explore",
    "read_bounds",
    "replay",
]
