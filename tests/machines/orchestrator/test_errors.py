"""Categories, recovery options, error contexts, recoverability."""

from __future__ import annotations

from typing import Any

import pytest

from rawko.machines.orchestrator.arbiter.errors import (
    CATEGORIES,
    CODES,
    build_error_context,
    build_recovery_options,
    categorise,
    is_recoverable,
    needs_fallback,
)
from rawko.vocabulary.errors import Category


@pytest.mark.parametrize(
    ("error", "category"),
    [
        ({"category": "tool_failure"}, "tool_failure"),
        ({"category": "timeout", "code": "rate_limited"}, "timeout"),
        ({"code": "rate_limited"}, "provider_error"),
        ({"code": "timeout"}, "timeout"),
        ({"code": "permission"}, "permission_error"),
        ({"kind": "timeout"}, "timeout"),
        ({"kind": "lost"}, "unknown"),
        ({"category": "made up"}, "unknown"),
        ({"code": "made up"}, "unknown"),
        ({"message": "rate_limit exceeded"}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_the_category_comes_from_fields_never_from_words(error: dict[str, Any], category: str) -> None:
    """C-15, C-18."""
    assert categorise(error) == category


@pytest.mark.parametrize(
    ("category", "code", "actions"),
    [
        ("tool_failure", None, ["retry", "skip", "fallback"]),
        ("provider_error", "rate_limited", ["retry", "fallback"]),
        ("provider_error", "overloaded", ["retry", "fallback"]),
        ("provider_error", "authentication", ["abort", "fallback"]),
        ("provider_error", None, ["abort", "fallback"]),
        ("timeout", None, ["abort", "fallback"]),
        ("validation_error", None, ["retry", "fallback"]),
        ("permission_error", None, ["fallback"]),
        ("unknown", None, ["retry", "fallback"]),
    ],
)
def test_recovery_options_of_each_category(category: Category, code: str | None, actions: list[str]) -> None:
    """S6-042, C-13, C-40: abort first for a timeout, a fallback always."""
    assert [option.action for option in build_recovery_options(category, code)] == actions


def test_the_words_of_the_options_are_the_specifications() -> None:
    """S6-042."""
    told = {
        option.description for category in CATEGORIES for option in build_recovery_options(category, "rate_limited")
    }
    assert {
        "Retry the same tool with different parameters",
        "Skip this step and proceed to next",
        "Wait and retry (rate limit should clear)",
        "Abort task due to timeout",
        "Switch to different agent",
    } <= told


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("code", [None, *CODES])
def test_every_error_has_a_fallback(category: Category, code: str | None) -> None:
    """S6-042."""
    assert build_recovery_options(category, code)[-1].action == "fallback"


def test_an_error_context_fills_in_what_the_error_leaves_out() -> None:
    """S6-040, S6-041, C-45."""
    built = build_error_context(
        {"message": "boom", "code": "rate_limited", "retry_after_ms": 5000, "usage": {"input_tokens": 1}},
        agent="developer",
        at_ms=1_500,
        plan_step=2,
        attempted="write code",
    )
    assert built.to_json() == {
        "agent": "developer",
        "tool": None,
        "plan_step": 2,
        "attempted": "write code",
        "message": "boom",
        "category": "provider_error",
        "code": "rate_limited",
        "retry_after_ms": 5000,
        "recovery_options": [option.to_json() for option in build_recovery_options("provider_error", "rate_limited")],
        "timestamp": "1970-01-01T00:00:01.500Z",
        "context": {"files_accessed": None, "command_executed": None, "input_size": None, "output_size": None},
    }


def test_what_the_error_says_itself_stands() -> None:
    """C-47: own recovery options are kept, and the fallback is added."""
    own = {"action": "retry", "description": "Retry npm install", "reason": "Transient network error"}
    built = build_error_context(
        {
            "agent": "tester",
            "tool": "bash",
            "plan_step": 4,
            "attempted": "npm install",
            "message": "",
            "category": "tool_failure",
            "recovery_options": [own],
            "timestamp": "2026-01-23T10:00:00.000Z",
            "context": {"command_executed": "npm install"},
        },
        agent="developer",
        at_ms=0,
        plan_step=1,
        attempted="x",
    )
    assert (built.agent, built.tool, built.plan_step, built.attempted) == ("tester", "bash", 4, "npm install")
    assert built.message == ""
    assert [option.action for option in built.recovery_options] == ["retry", "fallback"]
    assert (built.timestamp, built.context.command_executed) == ("2026-01-23T10:00:00.000Z", "npm install")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"code": "overloaded"}, "overloaded"),
        ({"kind": "lost"}, "lost"),
        ({}, "The actor failed and said nothing about why"),
    ],
)
def test_an_error_without_words_gets_some(error: dict[str, Any], message: str) -> None:
    assert build_error_context(error, agent="a", at_ms=0).message == message


@pytest.mark.parametrize(
    ("category", "code", "recoverable"),
    [
        ("tool_failure", None, True),
        ("validation_error", None, True),
        ("timeout", None, True),
        ("provider_error", "rate_limited", True),
        ("provider_error", "network_error", True),
        ("provider_error", "overloaded", True),
        ("provider_error", "server_error", True),
        ("provider_error", "authentication", False),
        ("provider_error", "billing", False),
        ("provider_error", "invalid_request", False),
        ("provider_error", None, False),
        ("permission_error", None, False),
    ],
)
def test_which_errors_a_run_survives(category: str, code: str | None, recoverable: bool) -> None:
    """S3-044, C-13. A permission_error goes on by fallback alone."""
    error = {"category": category, "code": code}
    assert is_recoverable(error) is recoverable
    assert needs_fallback(error) is (category == "permission_error")


def test_an_unknown_error_is_survived_once() -> None:
    """C-13: unknown twice in a row fails."""
    error = {"category": "unknown", "code": None}
    assert is_recoverable(error, unknown_streak=1)
    assert not is_recoverable(error, unknown_streak=2)


def test_no_error_is_not_recoverable() -> None:
    """S3-044."""
    assert not is_recoverable(None)
    assert not needs_fallback(None)


def test_an_error_that_is_itself_malformed_does_not_hide_what_happened() -> None:
    """An actor may report anything at all."""
    reported = {
        "message": 5,
        "category": "tool_failure",
        "agent": ["x"],
        "tool": {"name": "bash"},
        "plan_step": "second",
        "retry_after_ms": "soon",
        "recovery_options": [{"action": "pray"}],
        "timestamp": 7,
        "context": {"made": "up"},
        "attempted": "npm install",
    }
    built = build_error_context(reported, agent="developer", at_ms=0, plan_step=2)
    assert (built.message, built.category, built.attempted) == ("5", "tool_failure", "npm install")
    assert (built.agent, built.tool, built.plan_step, built.retry_after_ms) == ("developer", None, 2, None)
    assert built.recovery_options == build_recovery_options("tool_failure")
    assert built.timestamp == "1970-01-01T00:00:00.000Z"
