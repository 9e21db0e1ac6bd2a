"""Failures of a Messages-API call as ProviderErrors: tables from error codes, types, statuses and exceptions.

Read in this order, the first hit wins: the error's code, telltale texts of an invalid request, the error's type,
the HTTP status. The type comes before the status because an overload inside a stream has status 200.
Refusals and full context windows at the end of an answer are stop reasons, not failures.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Callable, Mapping

import anthropic
import httpx2

from rawko.cutting import cut
from rawko.providers.answer_size import AnswerTooLargeError
from rawko.providers.anthropic_wire import CutOffAnswerError, UnreadableAnswerError
from rawko.providers.failures import provider_error
from rawko.runtime.ports import ProviderError
from rawko.vocabulary.errors import ProviderCode
from rawko.vocabulary.usage import Usage

MAX_RETRY_AFTER_MS = 24 * 3_600_000
"""A day: a server that asks for more is mistaken. How long is really waited, the machines decide."""

MESSAGE_CHARS = 1_000
"""Cut of a server's words: a proxy's error page is no message."""

BY_ERROR_CODE: Mapping[str, ProviderCode] = {
    "enforced_spend_limit_reached": "billing",
    "contract_spend_limit_reached": "billing",
    "linked_organization_spend_limit_reached": "billing",
    "linked_organization_billing_unavailable": "billing",
    "organization_on_hold": "billing",
    "user_profile_not_billable": "billing",
    "user_profile_billing_not_authorized": "billing",
    "request_body_timeout": "network_error",
    "request_body_too_large_after_decoding": "context_window",
}
"""`error.details.error_code`, where it says more than the status: a spend limit comes as 429, and no wait helps."""

BY_TEXT: tuple[tuple[re.Pattern[str], ProviderCode], ...] = (
    (re.compile(r"credit balance|insufficient (?:credit|quota|funds)", re.IGNORECASE), "billing"),
    (
        re.compile(r"prompt is too long|context (?:length|window|size)|too many (?:input )?tokens", re.IGNORECASE),
        "context_window",
    ),
)
"""Told apart by their words alone: both arrive as `invalid_request_error`, from Claude and from other servers."""

BY_TYPE: Mapping[str, ProviderCode] = {
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "api_error": "server_error",
    "conflict_error": "server_error",
    "timeout_error": "timeout",
    "authentication_error": "authentication",
    "billing_error": "billing",
    "permission_error": "permission",
    "not_found_error": "not_found",
    "invalid_request_error": "invalid_request",
    "request_too_large": "context_window",
    # Other servers of the same API.
    "insufficient_quota": "billing",
    "exceed_context_size_error": "context_window",
    "unavailable_error": "overloaded",
    "server_error": "server_error",
}

BY_STATUS: Mapping[int, ProviderCode] = {
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "server_error",
    413: "context_window",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
"""Statuses that are not here: 5xx is a server_error, any other 4xx an invalid_request, a 2xx a server_error."""

BY_EXCEPTION: tuple[tuple[type[BaseException], ProviderCode], ...] = (
    (anthropic.APITimeoutError, "timeout"),
    (httpx2.TimeoutException, "timeout"),
    (TimeoutError, "timeout"),
    (httpx2.UnsupportedProtocol, "invalid_request"),
    (httpx2.InvalidURL, "invalid_request"),
    (httpx2.TooManyRedirects, "invalid_request"),
    (httpx2.DecodingError, "malformed"),
    (httpx2.HTTPError, "network_error"),
    (CutOffAnswerError, "network_error"),
    (OSError, "network_error"),
    (UnreadableAnswerError, "malformed"),
    (AnswerTooLargeError, "malformed"),
    (RecursionError, "malformed"),
    (anthropic.APIResponseValidationError, "malformed"),
    (json.JSONDecodeError, "malformed"),
    (UnicodeDecodeError, "malformed"),
    (anthropic.CredentialsError, "authentication"),
    (anthropic.APIConnectionError, "network_error"),
    (anthropic.AnthropicError, "server_error"),
)
"""Failures without an error body, most special first."""


def classify(error: Exception, *, usage: Usage, now: Callable[[], float] = time.time) -> ProviderError | None:
    """The ProviderError of what the SDK or its transport raised; None for what is no failure of a call.

    Args:
        usage: Tokens that the call is known to have used.
        now: Epoch seconds, for a retry-after that is a date.

    Source: S6-040, C-18, C-24.
    """
    if isinstance(error, anthropic.APIStatusError):
        return _of_status(error, usage, now)
    # A connection error's own class says nothing; the transport's exception behind it does.
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else None
    for candidate in (cause, error):
        for kind, code in BY_EXCEPTION:
            if isinstance(candidate, kind):
                return provider_error(_words(code, candidate, server=_server(error)), code, usage=usage)
    return None


def code_of(*, status: int, error_type: str | None, error_code: str | None, text: str) -> ProviderCode:
    """The code of an error answer, by the tables above."""
    if (known := BY_ERROR_CODE.get(error_code or "")) is not None:
        return known
    by_status = BY_STATUS.get(status)
    # Servers use invalid_request_error for what has a status of its own, as 404 and 413.
    is_vague = error_type == "invalid_request_error" and by_status is not None
    by_type = None if is_vague else BY_TYPE.get(error_type or "")
    code = by_type or by_status or _by_status_class(status)
    if code == "invalid_request":
        return next((found for pattern, found in BY_TEXT if pattern.search(text)), code)
    return code


def _by_status_class(status: int) -> ProviderCode:
    return "invalid_request" if 400 <= status < 500 else "server_error"


def retry_after_ms(headers: Mapping[str, str], *, now: Callable[[], float]) -> int | None:
    """What the server asked to wait, in ms, from 0 to `MAX_RETRY_AFTER_MS`; None where it does not say, or not in
    numbers.

    `retry-after-ms` is the more exact one; `retry-after` is seconds or an HTTP date.
    """
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return _bounded(exact)
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is None and text:
        seconds = _seconds_until(text, now())
    return None if seconds is None else _bounded(seconds * 1000)


def _bounded(milliseconds: float) -> int:
    return round(min(max(0.0, milliseconds), MAX_RETRY_AFTER_MS))


def _seconds_until(date: str, now_s: float) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp() - now_s
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


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


_PREFIXES: Mapping[ProviderCode, str] = {
    "timeout": "{server} did not answer in time",
    "network_error": "the connection to {server} failed",
    "malformed": "the answer of {server} cannot be read",
    "invalid_request": "the request cannot be sent",
}


def _server(error: Exception) -> str:
    """Scheme, host and port of where the call went, where that is known."""
    if not isinstance(error, anthropic.APIConnectionError):
        return "the model"
    url = error.request.url
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def _words(code: ProviderCode, error: BaseException | None, *, server: str) -> str:
    prefix = _PREFIXES.get(code, "the call of {server} failed").format(server=server)
    # The SDK's texts on timeouts and connections are general advice; they are longer than what they say.
    is_advice = isinstance(error, anthropic.APIConnectionError)
    detail = _WAITS.get(type(error)) or ("" if is_advice else cut(str(error).strip(), MESSAGE_CHARS))
    return f"{prefix}: {detail}" if detail else prefix


_WAITS: Mapping[type[object], str] = {
    httpx2.ConnectTimeout: "no connection was made",
    httpx2.ReadTimeout: "the server fell silent",
    httpx2.WriteTimeout: "the server took nothing in",
    httpx2.PoolTimeout: "no connection was free",
}
"""The transport's timeouts carry no words of their own."""
