"""Failures of a Messages-API call as ProviderErrors: maps the SDK's exceptions, with the tables of `http.failures`.

Refusals and full context windows at the end of an answer are stop reasons and not handled here.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import anthropic

from rawko.cutting import cut
from rawko.providers.failures import provider_error
from rawko.providers.http.failures import (
    BY_TRANSPORT,
    MESSAGE_CHARS,
    code_of,
    failure_message,
    retry_after_ms,
    server_of,
)
from rawko.runtime.ports import ProviderError
from rawko.vocabulary.errors import ProviderCode
from rawko.vocabulary.usage import Usage

BY_EXCEPTION: tuple[tuple[type[BaseException], ProviderCode], ...] = (
    (anthropic.APITimeoutError, "timeout"),
    *BY_TRANSPORT,
    (anthropic.APIResponseValidationError, "malformed"),
    (anthropic.CredentialsError, "authentication"),
    (anthropic.APIConnectionError, "network_error"),
    (anthropic.AnthropicError, "server_error"),
)
"""Codes of failures without an error body, the most specific class first."""


def classify(error: Exception, *, usage: Usage, now: Callable[[], float] = time.time) -> ProviderError | None:
    """The ProviderError for an exception of the SDK or its transport; None where the exception is no failure of a call.

    Args:
        usage: Tokens that the call is known to have used.
        now: Epoch seconds, for a retry-after that is a date.

    Source: S6-040, C-18, C-24.
    """
    if isinstance(error, anthropic.APIStatusError):
        return _of_status(error, usage, now)
    # A connection error's own class is general; the transport's exception behind it tells what happened.
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else None
    for candidate in (cause, error):
        for kind, code in BY_EXCEPTION:
            if isinstance(candidate, kind):
                is_advice = isinstance(candidate, anthropic.APIConnectionError)
                told = failure_message(code, candidate, server=_server(error), is_advice=is_advice)
                return provider_error(told, code, usage=usage)
    return None


def _of_status(error: anthropic.APIStatusError, usage: Usage, now: Callable[[], float]) -> ProviderError:
    text = error.api_message if isinstance(error.api_message, str) else error.message
    error_type = error.type if isinstance(error.type, str) else None
    code = code_of(status=error.status_code, error_type=error_type, error_code=error.error_code, text=text)
    trace = f", request {error.request_id}" if error.request_id else ""
    return provider_error(
        f"{cut(text, MESSAGE_CHARS)} (HTTP {error.status_code}{trace})",
        code,
        retry_after_ms=retry_after_ms(error.response.headers, now=now),
        status=error.status_code,
        usage=usage,
    )


def _server(error: Exception) -> str:
    """The server of the failed call, for messages."""
    return server_of(error.request.url) if isinstance(error, anthropic.APIConnectionError) else "the model"
