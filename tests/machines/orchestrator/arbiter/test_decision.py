"""Reading decisions out of answers."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.machines.orchestrator.arbiter.decision import (
    DECISION_TYPES,
    ArbiterDecision,
    DecisionError,
    decision_schema,
    parse_decision,
    why_refused,
)

WHOLE: dict[str, dict[str, Any]] = {
    "SELECT_MODE": {"type": "SELECT_MODE", "mode": "developer", "reason": "code is needed", "summary": None},
    "CONTINUE": {"type": "CONTINUE", "mode": None, "reason": "going well", "summary": None},
    "COMPLETE": {"type": "COMPLETE", "mode": None, "reason": "", "summary": "all done"},
    "RETRY": {"type": "RETRY", "mode": None, "reason": "once more", "summary": None},
    "SKIP": {"type": "SKIP", "mode": None, "reason": "not needed", "summary": None},
    "ABORT": {"type": "ABORT", "mode": None, "reason": "impossible", "summary": None},
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "```\n{}\n```", "I think:\n```json\n{}\n```\nSo be it."])
def test_a_whole_decision_is_read_bare_or_fenced(name: str, form: str) -> None:
    """S3-026, C-28, C-39."""
    text = form.replace("{}", json.dumps(WHOLE[name]))
    assert parse_decision(text).to_json() == WHOLE[name]


@pytest.mark.parametrize("name", WHOLE)
def test_the_schema_accepts_every_whole_decision(name: str) -> None:
    """S6-113: what the schema asks for is what the parser takes."""
    schema = decision_schema(["planner", "developer"])
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(WHOLE[name], schema)


def test_these_are_all_decisions() -> None:
    """S3-026, C-28."""
    assert set(DECISION_TYPES) == set(WHOLE)


def test_the_schema_names_the_agents() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**WHOLE["SELECT_MODE"], "mode": "ghost"}, decision_schema(["planner"]))
    jsonschema.validate(WHOLE["SELECT_MODE"], decision_schema([]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the answer is empty"),
        ("   \n", "the answer is empty"),
        ("Let us go on.", "'Let us go on.' is not JSON"),
        ("[1]", "is JSON but not an object"),
        ('{"type": "RETRY", "reason": "x"', "is not JSON"),
        ('{"type": NaN}', "NaN is not JSON"),
        ("{}", "type is missing; accepted: SELECT_MODE, CONTINUE"),
        ('{"type": "DANCE", "reason": "x"}', "type is 'DANCE'; accepted: SELECT_MODE, CONTINUE"),
        ('{"type": "RETRY"}', "RETRY needs 'reason'"),
        ('{"type": "RETRY", "reason": null}', "RETRY needs 'reason'"),
        ('{"type": "RETRY", "reason": 7}', "reason is '7'"),
        ('{"type": "COMPLETE", "reason": "done"}', "COMPLETE needs 'summary'"),
        ('{"type": "SELECT_MODE", "reason": "x"}', "SELECT_MODE needs 'mode'"),
        ('```\n{"type": "SKIP"}\n```\nor\n```\n{"type": "ABORT"}\n```', "2 fenced blocks"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_malformed_decision_says_what_was_wrong(text: str, said: str) -> None:
    """C-39: never a branch of `on done`."""
    with pytest.raises(DecisionError) as caught:
        parse_decision(text)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 500


@given(st.text())
def test_any_text_is_a_decision_or_a_decision_error(text: str) -> None:
    try:
        assert isinstance(parse_decision(text), ArbiterDecision)
    except DecisionError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("decision", "mode", "previous", "has_open_step", "said"),
    [
        ("SELECT_MODE", "developer", None, False, None),
        ("SELECT_MODE", "ghost", "developer", False, "Arbiter selected unknown agent: ghost"),
        ("RETRY", None, "developer", False, None),
        ("RETRY", "planner", "developer", False, None),
        ("RETRY", "ghost", "developer", False, "Arbiter selected unknown agent: ghost"),
        ("RETRY", None, None, False, "Arbiter decided RETRY without an agent, and none has worked yet"),
        ("CONTINUE", None, "developer", False, None),
        ("CONTINUE", None, None, False, "Arbiter decided CONTINUE without an agent, and none has worked yet"),
        ("SKIP", None, None, True, None),
        ("SKIP", None, None, False, "Arbiter decided SKIP, but there is no plan step to skip"),
        ("COMPLETE", None, None, False, None),
        ("ABORT", None, None, False, None),
    ],
)
def test_which_decisions_cannot_be_followed(
    decision: str, mode: str | None, previous: str | None, has_open_step: bool, said: str | None
) -> None:
    """S3-060, C-02."""
    agents = ["planner", "developer"]
    refused = why_refused(decision, mode, agents=agents, previous_agent=previous, has_open_step=has_open_step)
    assert refused == said
