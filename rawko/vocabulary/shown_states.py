"""Selects the states of a configuration that a line for people names.

Some states of the shipped charts only hold rules that several states share, such as `asking_model` around `thinking`.
Lines for people leave them out; JSON, journals and diagrams show every state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

GROUPING: Final = frozenset({"between_agents", "asking_arbiter", "steerable", "running", "asking_model", "recording"})
"""States of the shipped charts that only group others."""


def shown_states(configuration: Sequence[str]) -> list[str]:
    """The active states without the root and without grouping states; always the last one.

    `["agent_loop", "running", "asking_model", "thinking"]` is shown as `["thinking"]`. A chart of the user's own may
    have a state `running` without children: it stands last, so it is shown.
    """
    return [*(state for state in configuration[1:-1] if state not in GROUPING), *configuration[-1:]]
