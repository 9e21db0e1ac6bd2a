"""From which endings an exploration can be gone on with, and from which state. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rawko.machines.node_engine.context import RunState
from rawko.machines.node_engine.explore.deciding import Memory

CANCELLED: Final = "cancelled"


def why_it_goes_on(report: Mapping[str, Any], last: RunState | None) -> str | None:
    """What had ended an exploration that can be gone on with: the limit that was reached, that it was cancelled, or
    the code of the failure of its model; None of one that has come to its own end.

    Args:
        last: The state that was kept last.
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


def unfailed(state: RunState, first_node: str) -> RunState:
    """The state from which an exploration goes on whose model has failed for good: as after a crash, the program is
    launched anew, and the model is asked again. Any other state as it is."""
    memory = Memory.model_validate(state.data)
    if memory.code is None:
        return state
    data = {**state.data, **memory.changed(code=None, outcome=None, summary="")}
    return state.model_copy(update={"node_name": first_node, "retries": 0, "result": None, "data": data})
