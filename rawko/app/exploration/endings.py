"""Decides whether an ended exploration can be resumed, and from which state. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rawko.machines.node_engine.context import RunState
from rawko.machines.node_engine.explore.deciding import Memory

CANCELLED: Final = "cancelled"


def why_resumable(report: Mapping[str, Any], last: RunState | None) -> str | None:
    """Why an exploration ended that can be resumed: the limit that was reached, the cancellation, or the code of its
    model's error; None if it ended by itself and cannot be resumed.

    Args:
        last: The state that was recorded last.
    """
    match report["outcome"]:
        case "limit":
            return str(report["reason"])
        case "cancelled":
            return CANCELLED
        case "failure" if last is not None:
            return Memory.model_validate(last.data).code
        case _:
            return None


def without_failure(state: RunState, first_node: str) -> RunState:
    """The state from which to resume an exploration whose model failed: as after a crash, the program is launched
    again, and the model is asked again. Any other state is returned unchanged."""
    memory = Memory.model_validate(state.data)
    if memory.code is None:
        return state
    data = {**state.data, **memory.changed(code=None, outcome=None, summary="")}
    return state.model_copy(update={"node_name": first_node, "retries": 0, "result": None, "data": data})
