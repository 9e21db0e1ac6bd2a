"""The composition root: from settings to a running session. The one place where adapters meet machines.

The public names load on first use: a command that only reads records needs no agents' machines.
"""

from __future__ import annotations

from rawko.extras import require
from rawko.lazy_names import lazy_names

require("agents", "rawko.app")

TYPE_CHECKING = False  # of `typing`, which costs an import

if TYPE_CHECKING:
    from rawko.app.run.headless import Nobody as Nobody
    from rawko.app.run.models.endpoints import NO_MODEL as NO_MODEL
    from rawko.app.run.models.provider import open_provider as open_provider
    from rawko.app.run.parts.machines import agent_machines as agent_machines
    from rawko.app.run.report import EXIT_CODES as EXIT_CODES
    from rawko.app.run.report import Outcome as Outcome
    from rawko.app.run.report import Report as Report
    from rawko.app.run.run import Run as Run

__all__ = [
    "EXIT_CODES",
    "NO_MODEL",
    "Nobody",
    "Outcome",
    "Report",
    "Run",
    "agent_machines",
    "open_provider",
]

__getattr__ = lazy_names(
    __name__,
    {
        "rawko.app.run.headless": ("Nobody",),
        "rawko.app.run.models.endpoints": ("NO_MODEL",),
        "rawko.app.run.parts.machines": ("agent_machines",),
        "rawko.app.run.models.provider": ("open_provider",),
        "rawko.app.run.report": (
            "EXIT_CODES",
            "Outcome",
            "Report",
        ),
        "rawko.app.run.run": ("Run",),
    },
)
