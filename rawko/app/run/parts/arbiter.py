"""The orchestrator's machine of a run; imported only by runs with an arbiter, not by those of an agent alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.app.run.parts.charts import shipped_chart
from rawko.app.run.parts.machines import put_in_place
from rawko.chart import Chart
from rawko.config import Settings
from rawko.interpreter.bindings import Bindings
from rawko.machines import orchestrator
from rawko.machines.orchestrator.actors import OrchestratorPorts, actors
from rawko.machines.orchestrator.arbiter.prompt import PLACEHOLDERS
from rawko.vocabulary.agent import describe

__all__ = ["PLACEHOLDERS", "OrchestratorPorts", "orchestrator_machine"]


def orchestrator_machine(
    settings: Settings, run: str, ports: OrchestratorPorts, seed: int, charts: Mapping[str, Chart]
) -> tuple[Chart, Bindings, dict[str, Any]]:
    """Chart, bindings and input of the orchestrator; its task comes by an event.

    Args:
        charts: By name: charts that are used in place of the present ones.
    """
    given = {
        "agents": {name: describe(config).to_json() for name, config in settings.agents.items()},
        "max_iterations": settings.max_iterations,
        "max_consecutive_failures": settings.max_consecutive_failures,
        "provider_name": settings.provider,
        "session_id": run,
        "seed": seed,
    }
    if settings.fallback.model is not None:
        given["fallback"] = settings.fallback.to_json()
    if settings.evidence:
        given["evidence_demands"] = [demand.to_json() for demand in settings.evidence]
        given["max_refusals"] = settings.evidence_refusals
    machine = {"orchestrator": (shipped_chart("orchestrator"), orchestrator.bindings | actors(ports))}
    put_in_place(machine, charts)
    return *machine["orchestrator"], given
