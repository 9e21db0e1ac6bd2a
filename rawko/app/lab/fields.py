"""Parts of the arbiter's input that can be left out, by name: changes of the data for its template.

The task, the available agents and the judged agent run cannot be left out: without them there is nothing to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rawko.machines.orchestrator.arbiter.prompt import MISSING, PLACEHOLDERS
from rawko.machines.orchestrator.asking import Purpose

Data = Mapping[str, Any]
LeaveOut = Callable[[Data], dict[str, Any]]

_LIMITS: Final = (
    *("iteration", "max_iterations", "iterations_remaining", "failures", "max_failures"),
    *("tokens_used", "time_elapsed"),
)
_RUNS: Final = ("history", "last")
_NO_RUN: Final[Mapping[str, Mapping[str, Any]]] = {
    "changes": {"changes": None, "files": []},
    "outputs": {"output": MISSING, "full": MISSING, "pointer": None},
    "errors": {"error": None},
    "steps": {"steps": []},
}
"""Values that replace a part of each shown agent run."""


def _whole(name: str, value: Any) -> LeaveOut:
    return lambda data: {**data, name: value}


def _of_runs(name: str) -> LeaveOut:
    def leave_out(data: Data) -> dict[str, Any]:
        changed = dict(data)
        for field in _RUNS:
            if field == "history":
                changed[field] = [{**run, **_NO_RUN[name]} for run in data[field]]
            elif field in data:
                changed[field] = {**data[field], **_NO_RUN[name]}
        return changed

    return leave_out


def _no_performance(data: Data) -> dict[str, Any]:
    return {**data, "agents": [{**agent, "performance": None} for agent in data["agents"]]}


def _no_limits(data: Data) -> dict[str, Any]:
    return {**data, **dict.fromkeys(_LIMITS, MISSING), "time_remaining": None}


FIELDS: Final[Mapping[str, LeaveOut]] = {
    "history": _whole("history", []),
    "plan": _whole("plan", None),
    "last_error": _whole("error", None),
    "user_messages": _whole("user_messages", []),
    "previous_agent": _whole("previous_agent", None),
    "performance": _no_performance,
    "outputs": _of_runs("outputs"),
    "changes": _of_runs("changes"),
    "errors": _of_runs("errors"),
    "steps": _of_runs("steps"),
    "limits": _no_limits,
}
"""The fields by name; each function returns the data without its field."""

_ONLY_SELECT: Final = {"last_error": "error", "previous_agent": "previous_agent"}


def without(field: str, purpose: Purpose, data: Data) -> dict[str, Any]:
    """The data without a field; unchanged where the template has no such field."""
    placeholder = _ONLY_SELECT.get(field)
    if placeholder is not None and placeholder not in PLACEHOLDERS[purpose]:
        return dict(data)
    return FIELDS[field](data)
