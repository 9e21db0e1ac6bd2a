"""The check of a call's input against its tool's schema."""

from __future__ import annotations

from rawko.tools.schema import InputCheck


def test_the_input_that_was_valid_last_is_remembered_with_its_types() -> None:
    """Python says that 1, 1.0 and True are equal; a schema does not."""
    check = InputCheck({"type": "object", "properties": {"limit": {"type": "integer"}}})
    assert check.problems({"limit": 1}) == check.problems({"limit": 1}) == []
    [problem] = check.problems({"limit": True})
    assert "limit" in problem and "true" in problem
    [again] = check.problems({"limit": True})
    assert again == problem
