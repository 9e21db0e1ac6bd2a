"""The neutral chart as XState's machine JSON, for XState itself and for its namesake in Python."""

from __future__ import annotations

from typing import Any

from tests.bench.charts import State


def machine_json(chart: State, *, entry: str | None = None) -> dict[str, Any]:
    return {"id": "bench", "context": chart.get("context", {"n": 0}), **_state(chart, entry)}


def _state(state: State, entry: str | None) -> dict[str, Any]:
    kind = state.get("kind", "")
    found: dict[str, Any] = {}
    if kind in ("parallel", "final"):
        found["type"] = kind
    elif kind:
        return {"type": "history", "history": kind.split()[0]}
    if "initial" in state:
        found["initial"] = state["initial"]
    if state.get("states"):
        found["states"] = {name: _named(name, child, entry) for name, child in state["states"].items()}
    moves: dict[str, list[Any]] = {}
    for event, target, guard, action, n in state.get("on", ()):
        move: dict[str, Any] = {"target": f"#{target}"}
        if guard:
            move["guard"] = guard if n is None else {"type": guard, "params": {"limit": n}}
        if action:
            move["actions"] = action if n is None else {"type": action, "params": {"by": n}}
        moves.setdefault(event, []).append(move)
    if moves:
        found["on"] = {event: rows[0] if len(rows) == 1 else rows for event, rows in moves.items()}
    return found


def _named(name: str, state: State, entry: str | None) -> dict[str, Any]:
    found = {"id": name, **_state(state, entry)}
    if entry and "history" not in found:
        found["entry"] = entry
    return found
