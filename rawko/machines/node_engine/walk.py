"""The changes of the state in each step of a walk; fields that a function does not return stay. Pure; for both
drivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rawko.interpreter.data.values import fields_of
from rawko.machines.node_engine.context import PATH_LIMIT, BudgetReason, NodeEngineContext

Changes = Mapping[str, Any]


def missing_input(context: NodeEngineContext) -> tuple[str, ...]:
    """Names of the fields that every run needs and this one lacks."""
    return tuple(name for name in ("node_name", "seed") if getattr(context, name) == "")


def started(context: NodeEngineContext, now_ms: int) -> Changes:
    """The start of the run; a resumed run keeps its start time, because its time budget counts from there."""
    return {"started_at_ms": now_ms if context.started_at_ms is None else context.started_at_ms}


def begun(context: NodeEngineContext) -> Changes:
    """The start of an attempt; it gets a number of its own, even if it never ends."""
    return {"step_ordinal": context.step_ordinal + 1, "result": None}


def attempted(context: NodeEngineContext, result: Any) -> Changes:
    """The result of an attempt: its data and tokens count, whatever is decided next. `result`: an EngineResult."""
    changes: dict[str, Any] = {"result": result}
    if result.tokens:
        changes["tokens"] = context.tokens + result.tokens
    if len(result.data):
        changes["data"] = {**fields_of(context.data), **fields_of(result.data)}
    return changes


def retried(context: NodeEngineContext) -> Changes:
    """A retry of the same node."""
    return {"retries": context.retries + 1}


def moved(context: NodeEngineContext, target: str) -> Changes:
    """A transition to another node; after a failure the run is degraded from here on (C-60)."""
    changes: dict[str, Any] = {"node_name": target, "path": [*context.path, context.node_name][-PATH_LIMIT:]}
    if context.retries:
        changes["retries"] = 0
    if context.result is not None and context.result.outcome == "FAILURE":
        changes["is_degraded"] = True
    return changes


def went_back(context: NodeEngineContext, target: str) -> Changes:
    """A step back to a node: the path is cut before the node's last visit; a path without the node stays.

    a, b, c -> failing at d, back to b: path [a], node b
    """
    path = list(context.path)
    if target in path:
        last = len(path) - 1 - path[::-1].index(target)
        path = path[:last]
    return {"node_name": target, "retries": 0, "path": path, "backtracks": context.backtracks + 1}


def spent_budget(context: NodeEngineContext, now_ms: int) -> BudgetReason | None:
    """The budget that is used up, or None (NE-007, NE-011)."""
    budgets = context.budgets
    if budgets.attempts is not None and context.step_ordinal >= budgets.attempts:
        return "attempts"
    if budgets.tokens is not None and context.tokens >= budgets.tokens:
        return "tokens"
    return "wall_time" if is_out_of_time(context, now_ms) else None


def is_out_of_time(context: NodeEngineContext, now_ms: int) -> bool:
    """Whether the time budget is used up."""
    wall_ms = context.budgets.wall_ms
    return wall_ms is not None and context.started_at_ms is not None and now_ms - context.started_at_ms >= wall_ms


def attempt_bound_ms(context: NodeEngineContext, now_ms: int) -> int:
    """Milliseconds that an attempt that begins now may take: its own bound, or the rest of the time budget if
    shorter."""
    wall_ms = context.budgets.wall_ms
    if wall_ms is None or context.started_at_ms is None:
        return context.attempt_timeout_ms
    return min(context.attempt_timeout_ms, max(context.started_at_ms + wall_ms - now_ms, 0))
