"""Tests for machines: contracts beside charts, a test actor, doubles, recorders, coverage, conformance suites."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rawko.interpreter.monitoring.guarding import MonitorViolated, watch
    from rawko.interpreter.monitoring.monitor import MONITOR_GUARDS, Monitor
    from rawko.testing.actor import TestActor, create_test_actor
    from rawko.testing.coverage.counts import Coverage
    from rawko.testing.coverage.table import coverage_table
    from rawko.testing.doubles import Doubles, scripted_actor
    from rawko.testing.errors import ContractBroken, ContractMistake, ContractsUnavailable
    from rawko.testing.model_based.chart_machine import chart_machine
    from rawko.testing.model_based.walks import Walk, WalkStep, walks
    from rawko.testing.recorder import Recorder
    from rawko.testing.run import ContractResult, ScenarioResult, run_contracts

# The pytest plugin is in this package, so modules that it does not need are imported on first use.
_HOMES = {
    "rawko.interpreter.monitoring.guarding": ("MonitorViolated", "watch"),
    "rawko.interpreter.monitoring.monitor": ("MONITOR_GUARDS", "Monitor"),
    "rawko.testing.actor": ("TestActor", "create_test_actor"),
    "rawko.testing.coverage.counts": ("Coverage",),
    "rawko.testing.coverage.table": ("coverage_table",),
    "rawko.testing.doubles": ("Doubles", "scripted_actor"),
    "rawko.testing.errors": ("ContractBroken", "ContractMistake", "ContractsUnavailable"),
    "rawko.testing.model_based.chart_machine": ("chart_machine",),
    "rawko.testing.model_based.walks": ("Walk", "WalkStep", "walks"),
    "rawko.testing.recorder": ("Recorder",),
    "rawko.testing.run": ("ContractResult", "ScenarioResult", "run_contracts"),
}
_LAZY = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "MONITOR_GUARDS",
    "ContractBroken",
    "ContractMistake",
    "ContractResult",
    "ContractsUnavailable",
    "Coverage",
    "Doubles",
    "Monitor",
    "MonitorViolated",
    "Recorder",
    "ScenarioResult",
    "TestActor",
    "Walk",
    "WalkStep",
    "chart_machine",
    "coverage_table",
    "create_test_actor",
    "run_contracts",
    "scripted_actor",
    "walks",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
