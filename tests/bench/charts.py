"""The charts of the benchmarks in one neutral form, from which every contender builds its own.

A state is a dict: `initial`, `states` by name, `kind` (parallel, final, shallow history, deep history), `on`: a list
of moves. Names are unique in a chart; the root's children are its `states`. A chart may have a `context` to begin with.
"""

from __future__ import annotations

from typing import Any, TypeAlias

State: TypeAlias = dict[str, Any]
Move: TypeAlias = tuple[str, str, str | None, str | None, int | None]
"""(event, target, guard or None, action or None, the number that both are called with or None)."""


def move(event: str, target: str, guard: str | None = None, action: str | None = None, n: int | None = None) -> Move:
    return event, target, guard, action, n


def _flat(initial: str, moves: dict[str, list[Move]], finals: tuple[str, ...] = ()) -> State:
    states: dict[str, State] = {name: {"on": found} for name, found in moves.items()}
    states.update({name: {"kind": "final"} for name in finals})
    return {"initial": initial, "states": states}


def toggle(guard: str | None = None, action: str | None = None) -> State:
    """Two states that lead to each other."""
    return _flat("a", {"a": [move("E", "b", guard, action)], "b": [move("E", "a", guard, action)]})


def spec_0003() -> State:
    """The orchestrator's states, without its code."""
    cancel = move("CANCEL", "idle")
    return _flat(
        "idle",
        {
            "idle": [move("START_TASK", "selecting")],
            "selecting": [move("AGENT_SELECTED", "executing"), cancel],
            "executing": [move("AGENT_COMPLETE", "evaluating"), cancel, move("AGENT_ERROR", "error_handling")],
            "evaluating": [move("TASK_COMPLETE", "complete"), move("CONTINUE", "selecting"), cancel],
            "error_handling": [move("RETRY", "executing"), move("ABORT", "idle")],
            "complete": [move("RESET", "idle")],
        },
    )


SPEC_0003_LOOP = (
    "START_TASK", "AGENT_SELECTED", "AGENT_COMPLETE", "CONTINUE", "AGENT_SELECTED", "AGENT_ERROR", "RETRY",
    "AGENT_COMPLETE", "TASK_COMPLETE", "RESET",
)  # fmt: skip


def deep(levels: int) -> State:
    """Two chains of that many states; the innermost ones lead to each other: all are left, all are entered."""

    def chain(name: str, other: str, level: int) -> State:
        if level == levels:
            return {"on": [move("E", f"{other}{level}")]}
        return {"initial": f"{name}{level + 1}", "states": {f"{name}{level + 1}": chain(name, other, level + 1)}}

    return {"initial": "a1", "states": {"a1": chain("a", "b", 1), "b1": chain("b", "a", 1)}}


def parallel(regions: int, *, is_one_moving: bool) -> State:
    """Regions that toggle, all on one event or each on its own."""
    return grid(regions, 2, event=None if is_one_moving else "E")


def grid(regions: int, size: int, event: str | None = None) -> State:
    """Rings side by side, each on its own event `E<region>` if `event` is None."""

    def region(n: int) -> State:
        moves = {f"s{n}_{k}": [move(event or f"E{n}", f"s{n}_{(k + 1) % size}")] for k in range(size)}
        return _flat(f"s{n}_0", moves)

    return {"kind": "parallel", "states": {f"p{n}": region(n) for n in range(regions)}}


def ring(size: int) -> State:
    """States in a circle."""
    return _flat("s0", {f"s{n}": [move("E", f"s{(n + 1) % size}")] for n in range(size)})


def history() -> State:
    """A compound of compounds, left from deep inside and entered again by its deep history."""
    inner = {
        "initial": "x1",
        "states": {"x1": {"on": [move("NEXT", "x2")]}, "x2": {"on": [move("NEXT", "x1")]}},
    }
    work = {
        "initial": "x",
        "states": {"x": inner, "recent": {"kind": "deep history"}},
        "on": [move("PAUSE", "paused")],
    }
    return {"initial": "work", "states": {"work": work, "paused": {"on": [move("RESUME", "recent")]}}}


def conversation(messages: int) -> State:
    """Two states, and a context with that many messages of 60 to 70 characters."""

    def message(n: int) -> dict[str, Any]:
        text = f"message {n} {'x' * 60}"
        return {"role": "user" if n % 2 else "assistant", "content": [{"type": "text", "text": text}], "at_ms": n}

    return {**toggle(), "context": {"messages": [message(n) for n in range(messages)]}}


def life() -> State:
    """A task from beginning to end in five events."""
    moves = {f"s{n}": [move("E", f"s{n + 1}" if n < 4 else "done")] for n in range(5)}
    return _flat("s0", moves, finals=("done",))


def thousand(*, with_code: bool) -> State:
    """A thousand states with two transitions each; `with_code`: each with a guard and an action, no two the same."""
    guard, action = ("is_below", "up") if with_code else (None, None)

    def both(n: int) -> list[Move]:
        numbers = (2 * n, 2 * n + 1) if with_code else (None, None)
        return [
            move("E", f"s{(n + 1) % 1000}", guard, action, numbers[0]),
            move("BACK", f"s{(n - 1) % 1000}", guard, action, numbers[1]),
        ]

    return _flat("s0", {f"s{n}": both(n) for n in range(1000)})


def leaves(chart: State) -> frozenset[str]:
    """Names of states without children, histories excepted."""
    found: set[str] = set()
    for name, state in chart["states"].items():
        if state.get("states"):
            found |= leaves(state)
        elif "history" not in state.get("kind", ""):
            found.add(name)
    return frozenset(found)
