"""Every guard of the gauntlet, in a table: context, event, answer."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.interpreter.data.events import Event
from rawko.interpreter.data.freezing import freeze
from rawko.machines.gauntlet import bindings
from rawko.machines.gauntlet.context import GauntletContext


def ended(outcome: str) -> dict[str, Any]:
    return {"output": {"outcome": outcome}}


def reviewed(*outcomes: str) -> dict[str, Any]:
    return {
        "output": [
            {"status": "error", "error": {}} if one == "error" else {"status": "done", "output": {"outcome": one}}
            for one in outcomes
        ]
    }


def findings(*severities: str) -> dict[str, Any]:
    return {"findings": [{"severity": one, "text": "t"} for one in severities]}


TABLE: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("is_cancelled", {}, ended("cancelled"), True),
    ("is_cancelled", {}, ended("success"), False),
    ("has_succeeded", {}, ended("success"), True),
    ("has_succeeded", {}, ended("limit"), False),
    ("is_review_cancelled", {}, reviewed("success", "cancelled"), True),
    ("is_review_cancelled", {}, reviewed("success", "error", "limit"), False),
    ("lacks_review", {}, reviewed("success", "success"), False),
    ("lacks_review", {}, reviewed("success", "limit"), True),
    ("lacks_review", {}, reviewed("error", "success"), True),
    ("is_clear", findings(), {}, True),
    ("is_clear", findings("major", "minor"), {}, True),
    ("is_clear", findings("minor", "blocking"), {}, False),
    ("has_rounds_left", {"round": 2, "parameters": {"rounds": 3}}, {}, True),
    ("has_rounds_left", {"round": 3, "parameters": {"rounds": 3}}, {}, False),
]


@pytest.mark.parametrize(("name", "context", "event", "answer"), TABLE)
def test_guard(name: str, context: dict[str, Any], event: dict[str, Any], *, answer: bool) -> None:
    given = GauntletContext.model_validate(context).to_json()
    assert bindings.get("guard", name)(freeze(given), Event("E", **event)) is answer


def test_every_guard_has_a_yes_and_a_no() -> None:
    assert {(name, True) for name in bindings.names("guard")} | {(name, False) for name in bindings.names("guard")} == {
        (name, answer) for name, _, _, answer in TABLE
    }
