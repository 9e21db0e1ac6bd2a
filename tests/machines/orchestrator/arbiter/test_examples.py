"""SPEC-0006's three examples: the inputs that it constructs, and the decisions that are drawn from them.

The examples leave out fields and break their own types (C-47), so they are compared as partial patterns: every field
that an example has must be there with that value. Its camelCase keys become ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rawko.interpreter.data.values import Record
from rawko.machines.orchestrator.arbiter.errors import build_error_context
from rawko.machines.orchestrator.arbiter.inputs import (
    construct_evaluate_progress_input,
    construct_select_agent_input,
)

GOLDEN = Path(__file__).parent / "golden"
TASK = "Implement user authentication"
AGENTS = {
    "planner": {
        "name": "planner",
        "display_name": "Planning Agent",
        "when_to_use": "Use this agent when starting a new task that needs analysis...",
    },
    "developer": {
        "name": "developer",
        "display_name": "Development Agent",
        "when_to_use": "Use when code modifications are required...",
    },
}
MakeContext = Callable[..., Record]
Run = Callable[..., dict[str, Any]]


def example(number: int) -> Any:
    """The example as the specification prints it, with our spelling of keys."""
    return snake(json.loads((GOLDEN / f"example_{number}.json").read_text(encoding="utf-8")))


def snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub(r"([A-Z])", lambda m: f"_{m[1].lower()}", key): snake(item) for key, item in value.items()}
    return [snake(item) for item in value] if isinstance(value, list) else value


def assert_contains(found: Any, wanted: Any, where: str = "input") -> None:
    """Everything that `wanted` says stands in `found`; lists may have more items at their end."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict), f"{where} is {found!r}"
        for key, item in wanted.items():
            assert key in found, f"{where} has no {key!r}"
            assert_contains(found[key], item, f"{where}.{key}")
    elif isinstance(wanted, list):
        assert len(found) >= len(wanted), f"{where} has {len(found)} items"
        for index, item in enumerate(wanted):
            assert_contains(found[index], item, f"{where}[{index}]")
    else:
        assert found == wanted, f"{where} is {found!r}, wanted {wanted!r}"


def plan_of_five(*statuses: str, current: int) -> dict[str, Any]:
    told = ["Create middleware", "Login endpoint", "Session store", "Logout endpoint", "Tests"]
    padded = [*statuses, *["pending"] * (5 - len(statuses))]
    steps = [
        {"index": i, "description": text, "status": s} for i, (text, s) in enumerate(zip(told, padded, strict=True), 1)
    ]
    return {"steps": steps, "current_step_index": current}


def test_example_1_the_planning_phase(context: MakeContext) -> None:
    """S6-090, C-46: iteration 1 is about to be, 49 remain."""
    built = construct_select_agent_input(context(task=TASK, agents=AGENTS, started_at=0), now_ms=0)
    assert_contains(built.to_json(), example(1))


def test_example_2_a_tool_error_on_the_way(context: MakeContext, run: Run) -> None:
    """S6-091, C-45, C-46, C-47: iteration 4 with three entries, plan step 2 for index 1, a fallback at the end."""
    wanted = example(2)
    failed = {"message": "Cannot find module 'jsonwebtoken'", "category": "tool_failure"}
    state = context(
        task=TASK,
        agents=AGENTS,
        current_mode="developer",
        iteration_count=3,
        consecutive_failures=1,
        total_failures=1,
        plan=plan_of_five("complete", "failed", current=1),
        history=[
            run(agent="planner", iteration=1, completed_at=45_000, output="Analysis complete. Created 5-step plan..."),
            run(iteration=2, completed_at=90_000, output="Middleware created successfully..."),
            run(iteration=3, result="failure", output="Failed at import statement...", error=failed),
        ],
        last_error=build_error_context(
            {
                "tool": "Bash",
                "attempted": "npm install jsonwebtoken",
                "message": "Command failed with exit code 1",
                "category": "tool_failure",
                "recovery_options": wanted["last_error"]["recovery_options"],
            },
            agent="developer",
            at_ms=0,
            plan_step=2,
        ).to_json(),
    )
    built = construct_select_agent_input(state, now_ms=0).to_json()
    assert_contains(built, wanted)
    assert [option["action"] for option in built["last_error"]["recovery_options"]] == ["retry", "skip", "fallback"]
    assert built["previous_agent"] == "developer"


def test_example_3_a_success_is_judged(context: MakeContext, run: Run) -> None:
    """S6-092, C-46: iteration 5 after entry 4, 45 remain."""
    output = "Login endpoint implemented. Created src/auth/login.ts with POST /login..."
    usage = {"input_tokens": 2100, "output_tokens": 1230}
    state = context(
        task=TASK,
        agents=AGENTS,
        iteration_count=4,
        plan=plan_of_five("complete", "complete", current=2),
        history=[
            run(iteration=2),
            run(iteration=3, result="failure"),
            run(iteration=4, output=output, usage=usage, files_changed=["src/auth/login.ts"]),
        ],
    )
    assert_contains(construct_evaluate_progress_input(state, now_ms=0).to_json(), example(3))


def test_the_matcher_can_fail() -> None:
    assert_contains({"a": [1, 2], "b": 0}, {"a": [1]})
    for found, wanted in [
        ({}, {"a": 1}),
        ({"a": 2}, {"a": 1}),
        ({"a": []}, {"a": [1]}),
        ({"a": None}, {"a": {"b": 1}}),
    ]:
        with pytest.raises(AssertionError):
            assert_contains(found, wanted)
