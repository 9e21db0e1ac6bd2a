"""What went wrong, as data: the error context that guards, prompts and reports read (S6-040).

Building the recovery options of an error is the arbiter's (`machines/orchestrator/arbiter/errors.py`).
"""

from __future__ import annotations

from typing import Literal

from rawko.vocabulary.base import Data

Category = Literal["tool_failure", "provider_error", "validation_error", "timeout", "permission_error", "unknown"]
ProviderCode = Literal[
    "rate_limited",
    "overloaded",
    "server_error",
    "network_error",
    "timeout",
    "authentication",
    "billing",
    "permission",
    "not_found",
    "invalid_request",
    "refusal",
    "context_window",
    "malformed",
    "scenario",
    "budget",
    "unattended",
]
"""Codes of an error. `malformed` is an answer that cannot be read, `scenario` a scripted request unforeseen, `budget`
the run's own bound, `unattended` a question that nobody is there to answer."""

RETRYABLE_CODES: frozenset[str] = frozenset(
    {"rate_limited", "overloaded", "server_error", "network_error", "timeout", "malformed"}
)
"""Codes after which the same request may succeed."""

RETRY_AFTER_CAP_MS: int = 600_000
"""Longest wait that a provider may impose; the event RETRY cuts any wait short."""
BACKOFF_CAP_MS: int = 60_000
"""Longest wait of our own."""


class RecoveryOption(Data):
    """One thing the arbiter may do about an error."""

    action: Literal["retry", "skip", "fallback", "abort"]
    description: str
    reason: str


class ErrorDetails(Data):
    """What was happening. Sizes are characters."""

    files_accessed: tuple[str, ...] | None = None
    command_executed: str | None = None
    input_size: int | None = None
    output_size: int | None = None


class ErrorContext(Data):
    """An error as the arbiter reads it (S6-040).

    `code` refines a provider_error; `retry_after_ms` is what the provider asked for; `plan_step` counts from 1
    (C-45); `timestamp` is ISO 8601 in UTC.
    """

    agent: str = ""
    tool: str | None = None
    plan_step: int | None = None
    attempted: str = ""
    message: str
    category: Category
    code: ProviderCode | None = None
    retry_after_ms: int | None = None
    recovery_options: tuple[RecoveryOption, ...] = ()
    timestamp: str = ""
    context: ErrorDetails = ErrorDetails()
