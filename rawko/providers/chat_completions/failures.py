"""Failures of a chat completions call as ProviderErrors: maps the SDK's exceptions, with the tables of `http.failures`.

An error within a stream has no HTTP status of its own; servers put a status or a word into its `code`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

import openai

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
    (openai.APITimeoutError, "timeout"),
    *BY_TRANSPORT,
    (openai.APIResponseValidationError, "malformed"),
    (openai.APIConnectionError, "network_error"),
    (openai.OpenAIError, "server_error"),
)
"""Codes of failures without an error body, the most specific class first."""

_TYPES: Final[Mapping[str, str]] = {
    "overloaded": "overloaded_error",
    "server_overloaded": "overloaded_error",
    "rate_limit_exceeded": "rate_limit_error",
    "context_length_exceeded": "request_too_large",
    "invalid_api_key": "authentication_error",
    "model_not_found": "not_found_error",
    "insufficient_quota": "insufficient_quota",
    "billing_hard_limit_reached": "billing_error",
    "billing_not_active": "billing_error",
    "exceed_context_size_error": "exceed_context_size_error",
    # vLLM and others name Python's exceptions
    "NotFoundError": "not_found_error",
    "BadRequestError": "invalid_request_error",
    "InternalServerError": "server_error",
    "AuthenticationError": "authentication_error",
}
"""Words in `code` and `type`, mapped to the error types of the shared table."""


def classify(error: Exception, *, usage: Usage, now: Callable[[], float] = time.time) -> ProviderError | None:
    """The ProviderError for an exception of the SDK or its transport; None where the exception is no failure of a call.

    Args:
        usage: Tokens that the call is known to have used.
        now: Epoch seconds, for a retry-after that is a date.

    Source: S6-040, C-18, C-24.
    """
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        wait = retry_after_ms(error.response.headers, now=now)
        trace = f", request {error.request_id}" if error.request_id else ""
        told = f"{cut(text_of(error), MESSAGE_CHARS)} (HTTP {status}{trace})"
        return provider_error(told, _code(error, status), retry_after_ms=wait, status=status, usage=usage)
    # A connection error's own class is general; the transport's exception behind it tells what happened.
    is_connection = isinstance(error, openai.APIConnectionError)
    if isinstance(error, openai.APIError) and error.body is not None and not is_connection:
        status = _status_in(error)
        return provider_error(cut(text_of(error), MESSAGE_CHARS), _code(error, status), status=status, usage=usage)
    cause = error.__cause__ if is_connection else None
    server = server_of(error.request.url) if isinstance(error, openai.APIConnectionError) else "the model"
    for candidate in (cause, error):
        for kind, code in BY_EXCEPTION:
            if isinstance(candidate, kind):
                is_advice = isinstance(candidate, openai.APIConnectionError)
                told = failure_message(code, candidate, server=server, is_advice=is_advice)
                return provider_error(told, code, usage=usage)
    return None


def text_of(error: openai.APIError) -> str:
    """The server's message without the SDK's additions; servers put it into different fields."""
    body: object = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        told = inner.get("message") if isinstance(inner, Mapping) else inner
        told = told or body.get("detail") or body.get("message")
        if told:
            return told if isinstance(told, str) else str(told)
    return str(body) if isinstance(body, str) and body.strip() else error.message


def _code(error: openai.APIError, status: int) -> ProviderCode:
    known = [_TYPES[word] for word in (error.code, error.type) if word and word in _TYPES]
    # Other types are too general: Ollama reports a missing model as api_error, with status 404.
    kind = known[0] if known else error.type if status == 200 else None
    return code_of(status=status, error_type=kind, error_code=error.code, text=text_of(error))


def _status_in(error: openai.APIError) -> int:
    """The HTTP status in the `code` of an error within a stream; 200 where there is none."""
    code = error.code or ""
    return int(code) if code.isdecimal() and 400 <= int(code[:4]) < 600 else 200
