"""Names of the actors that a project's own chart may invoke to run or compare agents."""

from __future__ import annotations

from typing import Final

RUN_AGENT: Final = "run_agent"
"""Runs an agent in the folder of the run."""
RUN_LANE: Final = "run_lane"
"""Runs an agent in a folder of the agent's own."""
JUDGE: Final = "judge"
"""Chooses the best of several results."""
