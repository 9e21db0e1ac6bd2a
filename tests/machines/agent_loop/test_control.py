"""The control tools: their schemas and their models accept the same; wrong input says what would be accepted."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rawko.machines.agent_loop.control import MODELS, ControlError, control_specs, parse_control
from rawko.vocabulary.plan import PlanError, PlanPatch, merge_plan

SPECS = {spec.name: spec for spec in control_specs(can_update_plan=True)}

STEP = {"description": "write", "status": "pending", "agent_used": "developer", "index": 1}
EXAMPLES: list[tuple[str, dict[str, Any], bool]] = [
    ("complete", {"summary": "done"}, True),
    ("complete", {"summary": ""}, False),
    ("complete", {}, False),
    ("complete", {"summary": 1}, False),
    ("complete", {"summary": "done", "more": 1}, False),
    ("clarify", {"question": "?"}, True),
    ("clarify", {"summary": "?"}, False),
    ("pause", {"reason": "r"}, True),
    ("pause", {"reason": None}, False),
    ("update_plan", {}, True),
    ("update_plan", {"steps": [STEP]}, True),
    ("update_plan", {"steps": [{"description": "write"}], "current_step_index": 0, "is_complete": False}, True),
    ("update_plan", {"steps": []}, False),
    ("update_plan", {"steps": [STEP] * 101}, False),
    ("update_plan", {"steps": [{"description": "x" * 2001}]}, False),
    ("update_plan", {"steps": [{"status": "pending"}]}, False),
    ("update_plan", {"steps": [{"description": "a", "status": "done"}]}, False),
    ("update_plan", {"steps": [{"description": "a", "owner": "me"}]}, False),
    ("update_plan", {"step_updates": [{"index": 1, "status": "complete"}]}, True),
    ("update_plan", {"step_updates": [{"status": "complete"}]}, False),
    ("update_plan", {"current_step_index": "one"}, False),
    # At each bound, and one beside it:
    ("update_plan", {"steps": [STEP] * 100}, True),
    *(
        ("update_plan", {field: [{"index": 1, "description": "x" * length}]}, 1 <= length <= 2000)
        for field in ("steps", "step_updates")
        for length in (0, 1, 2000, 2001)
    ),
    ("update_plan", {"step_updates": [{"index": 1}]}, True),
    ("update_plan", {"step_updates": [{"index": 1, "owner": "me"}]}, False),
    ("update_plan", {"plan": []}, False),
]


@pytest.mark.parametrize(("tool", "input", "is_valid"), EXAMPLES)
def test_the_schema_that_the_model_sees_and_the_check_agree(tool: str, input: dict[str, Any], is_valid: bool) -> None:
    assert Draft202012Validator(SPECS[tool].input_schema).is_valid(input) is is_valid
    if is_valid:
        assert isinstance(parse_control(tool, input), MODELS[tool])
    else:
        with pytest.raises(ControlError, match=f"Invalid input for '{tool}'.*Accepted fields"):
            parse_control(tool, input)


@pytest.mark.parametrize("input", [{"step_updates": [{"index": 0}]}, {"current_step_index": -1}])
def test_a_place_that_no_plan_has_is_refused_by_the_schema_and_by_the_plan(input: dict[str, Any]) -> None:
    assert not Draft202012Validator(SPECS["update_plan"].input_schema).is_valid(input)
    plan = merge_plan(None, PlanPatch.model_validate({"steps": [STEP]}))
    with pytest.raises(PlanError):
        merge_plan(plan, PlanPatch.model_validate(input))


def test_schemas_are_schemas_and_name_the_fields_of_the_models() -> None:
    for name, spec in SPECS.items():
        Draft202012Validator.check_schema(spec.input_schema)
        assert set(spec.input_schema["properties"]) == set(MODELS[name].model_fields)
        assert spec.is_read_only


def test_only_update_plan_may_be_withheld_and_the_order_is_stable() -> None:
    assert [spec.name for spec in control_specs(can_update_plan=True)] == [
        "update_plan",
        "clarify",
        "pause",
        "complete",
    ]
    assert [spec.name for spec in control_specs(can_update_plan=False)] == ["clarify", "pause", "complete"]


def test_a_plan_patch_is_the_vocabularys() -> None:
    patch = parse_control("update_plan", {"steps": [{"description": "write"}]})
    assert isinstance(patch, PlanPatch)
