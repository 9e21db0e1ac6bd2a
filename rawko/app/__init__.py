"""The composition root: from settings to a running session. The one place where adapters meet machines."""

from rawko.app.run.parts import NO_MODEL, agent_machines, open_provider
from rawko.app.run.report import EXIT_CODES, Outcome, Report
from rawko.app.run.run import Nobody, Run

__all__ = ["EXIT_CODES", "NO_MODEL", "Nobody", "Outcome", "Report", "Run", "agent_machines", "open_provider"]
