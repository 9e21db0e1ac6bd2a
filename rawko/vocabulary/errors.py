"""Errors as data: the error context that guards, prompts and reports read (S6-040), and the fallback model.

The arbiter builds the recovery options of an error (`machines/orchestrator/arbiter/errors.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

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
"""Codes of an error. `malformed`: an answer that cannot be parsed. `scenario`: a request that the scripted scenario
does not contain. `budget`: the run's own limit. `unattended`: a question, but no person is there to answer it."""

RETRYABLE_CODES: frozenset[str] = frozenset(
    {"rate_limited", "overloaded", "server_error", "network_error", "timeout", "malformed"}
)
"""Codes after which a repeated request may succeed."""

RETRY_AFTER_CAP_MS: int = 600_000
"""The longest wait that a provider may request; the event RETRY ends any wait."""
BACKOFF_CAP_MS: int = 60_000
"""The longest wait that rawko computes itself."""


class RecoveryOption(Data):
    """One action that the arbiter may take after an error."""

    action: Literal["retry", "skip", "fallback", "abort"]
    description: str
    reason: str


class ErrorDetails(Data):
    """The circumstances of an error. Sizes are in characters."""

    files_accessed: tuple[str, ...] | None = None
    command_executed: str | None = None
    input_size: int | None = None
    output_size: int | None = None


class ErrorContext(Data):
    """An error in the form that the arbiter reads (S6-040).

    `code` refines a provider_error; `retry_after_ms` is the wait that the provider requested; `plan_step` counts from 1
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


FailureClass = Literal[
    "rate_limited",
    "overloaded",
    "server_error",
    "network_error",
    "timeout",
    "malformed",
    "authentication",
    "billing",
    "permission",
    "not_found",
]
"""Codes of failures that another model or server might not have. `refusal` and `context_window` are not among them."""

LONG_WAIT_MS: Final = 60_000
"""If a server asks for a longer wait, the fallback model is used at once."""


Wire = Literal["anthropic", "openai"]
"""Providers that ask a model over the network; equals `WIRES` of `rawko.config.settings`, which imports no pydantic."""


class Fallback(Data):
    """Another model, used after failures of some classes.

    Attributes:
        model: Name of the model; None: there is no fallback.
        provider: Provider of the model; None: the run's provider.
        when: Codes of the failures after which the model is used.
        after: Retries of the agent's own model before that, for retryable codes; other codes are not retried.
    """

    model: Annotated[str, Field(min_length=1)] | None = None
    provider: Wire | None = None
    when: tuple[FailureClass, ...] = ("rate_limited", "overloaded", "server_error", "network_error", "timeout")
    after: Annotated[int, Field(ge=0, le=100)] = 2


def falls_back(fallback: Fallback | Any, error: Mapping[str, Any], retries: int) -> bool:
    """Whether a failed request is repeated with the fallback model.

    Args:
        fallback: A `Fallback`, a context value with the same fields, or None.
        error: The error as an actor reports it. If `code` is `budget` because the run has no time left for a wait,
            `refused_wait` is the code of the failure that asked for the wait.
        retries: Number of failed tries of the same request before this one.
    """
    refused, code = error.get("refused_wait"), error.get("code")
    if fallback is None or fallback.model is None or (refused or code) not in fallback.when:
        return False
    is_long = refused is not None or (error.get("retry_after_ms") or 0) > LONG_WAIT_MS
    return code not in RETRYABLE_CODES or is_long or retries >= fallback.after
