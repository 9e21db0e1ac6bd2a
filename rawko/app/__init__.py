"""The composition root: from settings to a running session. The one place where adapters meet machines."""

from rawko.extras import require

require("agents", "rawko.app")

from rawko.app.run.parts import NO_MODEL, agent_machines, open_provider  # noqa: E402 (see above)
from rawko.app.run.report import EXIT_CODES, Outcome, Report  # noqa: E402
from rawko.app.run.run import Nobody, Run  # noqa: E402

__all__ = ["EXIT_CODES", "NO_MODEL", "Nobody", "Outcome", "Report", "Run", "agent_machines", "open_provider"]
