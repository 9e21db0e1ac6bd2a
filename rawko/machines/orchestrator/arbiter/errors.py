"""Errors for the arbiter: their category, recovery options and context, and whether the task survives them.

Tables over categories and codes; the text of a message is never consulted (C-18).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from pydantic import ValidationError

from rawko.interpreter.data.values import thaw
from rawko.machines.orchestrator.arbiter.times import iso
from rawko.vocabulary.errors import (
    RETRYABLE_CODES,
    Category,
    ErrorContext,
    ErrorDetails,
    ProviderCode,
    RecoveryOption,
)

ARBITER: Final = "arbiter"
"""The `agent` of errors that happen while no agent runs (C-24)."""

CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
CODES: Final[tuple[ProviderCode, ...]] = get_args(ProviderCode)

_CODE_CATEGORIES: Final[Mapping[str, Category]] = {"timeout": "timeout", "permission": "permission_error"}
"""Codes whose category is more specific than provider_error, for errors without a category."""

FALLBACK: Final = RecoveryOption(
    action="fallback",
    description="Switch to different agent",
    reason="Different agent may have better approach",
)
_RETRY_TOOL: Final = RecoveryOption(
    action="retry",
    description="Retry the same tool with different parameters",
    reason="Tool may be in temporary error state",
)
_SKIP_STEP: Final = RecoveryOption(
    action="skip",
    description="Skip this step and proceed to next",
    reason="Step may not be critical to task",
)
_WAIT: Final = RecoveryOption(
    action="retry",
    description="Wait and retry (rate limit should clear)",
    reason="Rate limit is temporary",
)
_RETRY_PROVIDER: Final = RecoveryOption(
    action="retry",
    description="Wait and retry the same agent",
    reason="The provider's failure may be temporary",
)
_ABORT_TIMEOUT: Final = RecoveryOption(
    action="abort",
    description="Abort task due to timeout",
    reason="Agent not making progress",
)
_ABORT_PROVIDER: Final = RecoveryOption(
    action="abort",
    description="Abort task: the provider refuses the request",
    reason="The same request will be refused again",
)
_RETRY_VALID: Final = RecoveryOption(
    action="retry",
    description="Retry, answering in the form that is accepted",
    reason="The message says what was wrong",
)
_RETRY_ONCE: Final = RecoveryOption(
    action="retry",
    description="Retry once",
    reason="The cause is not known; a second failure of this kind ends the task",
)

_OPTIONS: Final[Mapping[Category, tuple[RecoveryOption, ...]]] = {
    "tool_failure": (_RETRY_TOOL, _SKIP_STEP),
    "validation_error": (_RETRY_VALID,),
    "timeout": (_ABORT_TIMEOUT,),
    "permission_error": (),
    "unknown": (_RETRY_ONCE,),
}
_FATAL_CODES: Final = frozenset({"unattended"})
"""Codes that end the task in any category: where no person answers, no other agent gets an answer either."""
_RECOVERABLE: Final = frozenset({"tool_failure", "validation_error", "timeout"})


def categorise(error: Mapping[str, Any]) -> Category:
    """The category of a reported error: its own, else from its code or kind, else `unknown`.

    Source: S6-041, C-15, C-18.
    """
    own = error.get("category")
    if own in CATEGORIES:
        return own  # type: ignore[no-any-return]
    if error.get("kind") == "timeout":
        return "timeout"
    code = error.get("code")
    if code in CODES:
        return _CODE_CATEGORIES.get(code, "provider_error")
    return "unknown"


def build_recovery_options(category: Category, code: str | None = None) -> tuple[RecoveryOption, ...]:
    """The arbiter's options after an error; the last one is always a fallback to another agent.

    For a timeout, abort comes first.

    Source: S6-042, C-13, C-40.
    """
    options = _provider_options(code) if category == "provider_error" else _OPTIONS[category]
    return (*options, FALLBACK)


def _provider_options(code: str | None) -> tuple[RecoveryOption, ...]:
    if code == "rate_limited":
        return (_WAIT,)
    return (_RETRY_PROVIDER,) if code in RETRYABLE_CODES else (_ABORT_PROVIDER,)


def build_error_context(
    error: Mapping[str, Any],
    *,
    agent: str,
    at_ms: int,
    plan_step: int | None = None,
    attempted: str = "",
) -> ErrorContext:
    """A reported error as a complete ErrorContext: its own fields are kept, missing ones are filled in.

    Args:
        error: Any fields of ErrorContext; those that do not fit are dropped, other fields (usage, output) ignored.
        agent: The agent that failed, where the error does not say.
        at_ms: Time of the error in epoch milliseconds.
        plan_step: The current plan step, from 1 (C-45).
        attempted: What was attempted, where the error does not say.

    Source: S6-040, S6-041, C-15, C-40.
    """
    told = _readable(error)
    category = categorise(error)
    code = told.get("code")
    return ErrorContext(
        agent=told.get("agent") or agent,
        tool=told.get("tool"),
        plan_step=told.get("plan_step", plan_step),
        attempted=told.get("attempted") or attempted,
        message=_message(error),
        category=category,
        code=code,
        retry_after_ms=told.get("retry_after_ms"),
        recovery_options=_options(told.get("recovery_options"), category, code),
        timestamp=told.get("timestamp") or iso(at_ms),
        context=told.get("context") or ErrorDetails(),
    )


def _readable(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of ErrorContext in the error that fit their types; a defect in one field must not hide the rest of the
    error."""
    given = {name: thaw(error[name]) for name in ErrorContext.model_fields if error.get(name) is not None}
    try:
        ErrorContext.model_validate({"message": "", "category": "unknown", **given})
    except ValidationError as invalid:
        unfit = {problem["loc"][0] for problem in invalid.errors(include_url=False)}
        return {name: value for name, value in given.items() if name not in unfit}
    return given


def _message(error: Mapping[str, Any]) -> str:
    """The error's message, which may be "" (C-43); else its code, kind or category."""
    message = error.get("message")
    if message is not None:
        return str(message)
    told = error.get("code") or error.get("kind") or error.get("category")
    return str(told) if told else "The actor failed and said nothing about why"


def _options(given: Any, category: Category, code: ProviderCode | None) -> tuple[RecoveryOption, ...]:
    if not given:
        return build_recovery_options(category, code)
    own = tuple(RecoveryOption.model_validate(option) for option in given)
    return own if any(option.action == "fallback" for option in own) else (*own, FALLBACK)


def is_recoverable(error: Mapping[str, Any] | None, *, unknown_streak: int = 0) -> bool:
    """Whether the task may continue after the error; `max_consecutive_failures` bounds how often.

    Args:
        error: An ErrorContext as data, or None.
        unknown_streak: Errors of category `unknown` in a row, this one included; the second is fatal.

    Source: S3-044, C-13.
    """
    if error is None or error.get("code") in _FATAL_CODES:
        return False
    category = error["category"]
    if category == "provider_error":
        return error.get("code") in RETRYABLE_CODES
    if category == "unknown":
        return unknown_streak < 2
    return category in _RECOVERABLE


def needs_fallback(error: Mapping[str, Any] | None) -> bool:
    """Whether only another agent can continue: a wait does not grant a permission (C-13)."""
    return error is not None and error["category"] == "permission_error"
