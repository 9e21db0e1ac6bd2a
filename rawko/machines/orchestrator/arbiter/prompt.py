"""The data of the templates in prompts/orchestrator, from the arbiter's inputs (S6-070).

Functions of JSON data; the templates decide on the layout. Missing output is "N/A", empty output "(empty)" (C-43).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_LIMITS: Final = frozenset(
    {"iteration", "max_iterations", "iterations_remaining", "failures", "max_failures"}
    | {"tokens_used", "time_elapsed", "time_remaining"}
)
PLACEHOLDERS: Final[Mapping[str, frozenset[str]]] = {
    "arbiter": frozenset(),
    "select": _LIMITS | {"task", "user_messages", "agents", "history", "error", "plan", "previous_agent"},
    "evaluate": _LIMITS | {"task", "user_messages", "agents", "history", "last", "plan"},
    "reask": frozenset({"problem"}),
    "agent_initial": frozenset({"task", "plan", "reason", "handover", "changes"}),
    "agent_continuation": frozenset({"task", "plan", "error", "reason", "changes"}),
    "handover": frozenset({"history"}),
}
"""The templates, each with the names of its data."""

MISSING: Final = "N/A"
EMPTY: Final = "(empty)"


def select_data(given: Mapping[str, Any]) -> dict[str, Any]:
    """Data of `select` from a SelectAgentInput."""
    return {
        "task": given["task"],
        "user_messages": [dict(message) for message in given["user_messages"]],
        "agents": [agent_data(agent) for agent in given["available_agents"]],
        "history": [run_data(run) for run in given["history"]],
        "error": error_data(given["last_error"]),
        "plan": plan_data(given["plan"]),
        "previous_agent": given["previous_agent"],
        **_limits(given["constraints"]),
    }


def evaluate_data(given: Mapping[str, Any]) -> dict[str, Any]:
    """Data of `evaluate` from an EvaluateProgressInput."""
    return {
        "task": given["task"],
        "user_messages": [dict(message) for message in given["user_messages"]],
        "agents": [agent_data(agent) for agent in given["available_agents"]],
        "history": [run_data(run) for run in given["history"]],
        "last": run_data(given["last_execution"]),
        "plan": plan_data(given["plan"]),
        **_limits(given["constraints"]),
    }


def agent_data(agent: Mapping[str, Any]) -> dict[str, Any]:
    """Data of an agent's bullet."""
    return {
        "name": agent["name"],
        "display_name": agent["display_name"],
        "when_to_use": _indented(agent["when_to_use"], 4),
        "performance": _performance(agent["recent_performance"]),
    }


MAX_FILES: Final = 50
"""Most names in the list of an execution's modified files; the rest is given as a number."""


def run_data(run: Mapping[str, Any]) -> dict[str, Any]:
    """Data of an execution's bullet, from an ExecutionSummary."""
    output = run["output"] or {}
    error = run["error"]
    files = list(output.get("files_modified") or ())
    return {
        "agent": run["agent"],
        "iteration": run["iteration"],
        "status": run["status"],
        "duration_ms": run["duration_ms"],
        "output": _indented(text_or_mark(output.get("summary")), 4),
        "full": text_or_mark(output.get("full")),
        "pointer": _pointer(run["iteration"], output.get("chars")),
        "files": files if len(files) <= MAX_FILES else [*files[:MAX_FILES], f"and {len(files) - MAX_FILES} more"],
        "changes": _changes(output),
        "steps": list(output.get("steps_completed") or ()),
        "tokens": run["tokens"],
        "error": None if error is None else {**error, "message": _indented(text_or_mark(error["message"]), 4)},
    }


def _changes(output: Mapping[str, Any]) -> dict[str, Any] | None:
    """Kind and lines of the changed files, from the run's trees; None where at most their names are known (C-48,
    AL-103)."""
    told = list(output.get("changes") or ())
    if not told:
        return None
    return {"files": [_change(change) for change in told], "more": len(output["files_modified"]) - len(told)}


def _change(change: Mapping[str, Any]) -> dict[str, Any]:
    lines = "binary" if change["is_binary"] else f"+{change['added_lines']} -{change['removed_lines']}"
    return {"path": change["path"], "kind": change["kind"], "lines": lines}


def _pointer(iteration: int, chars: int | None) -> str | None:
    """The note under a shortened text that tells how to open the whole: an agent with the tool `output`, a person with
    `rawko show RUN --output` (S6-102)."""
    return None if chars is None else f"{chars:,} characters in all; the whole has the id iteration-{iteration}"


def error_data(error: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Data of the block about the last error, from an ErrorContext."""
    if error is None:
        return None
    return {
        "message": _indented(text_or_mark(error["message"]), 3),
        "category": error["category"],
        "agent": error["agent"],
        "tool": error["tool"],
        "plan_step": error["plan_step"],
        "attempted": _indented(error["attempted"], 3),
        "recovery_options": list(error["recovery_options"]),
    }


def plan_data(plan: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Data of the plan's block; `step` counts from 1 and stays at the last step when all are done (C-45)."""
    if plan is None:
        return None
    steps, at = list(plan["steps"]), plan["current_step_index"]
    return {
        "step": min(at + 1, len(steps)),
        "count": len(steps),
        "current": text_or_mark(steps[at]["description"]) if at < len(steps) else MISSING,
        "steps": steps,
    }


def text_or_mark(text: str | None) -> str:
    """The text, or a word that shows whether it is missing or empty (C-43)."""
    if text is None:
        return MISSING
    return text if text else EMPTY


def _limits(constraints: Mapping[str, Any]) -> dict[str, Any]:
    remaining = constraints["estimated_time_remaining"]
    return {
        "iteration": constraints["current_iteration"],
        "max_iterations": constraints["max_iterations"],
        "iterations_remaining": constraints["iterations_remaining"],
        "tokens_used": f"{constraints['estimated_tokens_used']:,}",
        "time_elapsed": duration(constraints["time_elapsed_ms"]),
        "time_remaining": None if remaining is None else duration(remaining),
        "failures": constraints["consecutive_failures"],
        "max_failures": constraints["max_consecutive_failures"],
    }


def duration(ms: int) -> str:
    """A duration for readers: 1.5s, 2m 30s, 1h 05m."""
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes = int(seconds // 60)
    return f"{minutes}m {int(seconds % 60):02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def _performance(recent: Mapping[str, Any] | None) -> str | None:
    if recent is None:
        return None
    average = recent["iteration_average"]
    runs = "" if average is None else f"; runs to a success: {average:g} on average"
    success = "" if recent["last_success"] is None else f"; last success {recent['last_success']}"
    failure = "" if recent["last_failure"] is None else f"; last failure {recent['last_failure']}"
    return f"{recent['success_rate']:g} % of runs succeeded{runs}{success}{failure}"


def _indented(text: str, spaces: int) -> str:
    """The text with its later lines indented, so that they stay inside their bullet."""
    return text.replace("\n", "\n" + " " * spaces)
