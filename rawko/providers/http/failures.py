"""Failures of a server or a connection as our codes: tables by error code, type, text, status and exception.

An error answer is classified in this order, the first match counts: the error's code, texts that identify certain
invalid requests, the error's type, the HTTP status. The type comes before the status because an overload inside a
stream has status 200. The adapters classify their SDK's own exceptions (`anthropic.failures`,
`chat_completions.failures`).
"""

from __future__ import annotations

import email.utils
import json
import math
import re
from collections.abc import Callable, Mapping

import httpx2

from rawko.cutting import cut
from rawko.providers.answer_size import AnswerTooLargeError
from rawko.vocabulary.errors import ProviderCode


class UnreadableAnswerError(Exception):
    """The server's answer does not follow the wire format."""


class CutOffAnswerError(Exception):
    """The answer ended too early, and the SDK did not report it."""


MAX_RETRY_AFTER_MS = 24 * 3_600_000
"""One day: a server that asks for more is mistaken. The machines decide how long they really wait."""

MESSAGE_CHARS = 1_000
"""Most characters of a server's message; a proxy's whole error page would not be readable."""

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
"""Codes for `error.details.error_code` where the status misleads: a spend limit has status 429, but waiting cannot
help."""

BY_TEXT: tuple[tuple[re.Pattern[str], ProviderCode], ...] = (
    (re.compile(r"credit balance|insufficient (?:credit|quota|funds)", re.IGNORECASE), "billing"),
    (
        re.compile(r"prompt is too long|context (?:length|window|size)|too many (?:input )?tokens", re.IGNORECASE),
        "context_window",
    ),
)
"""Failures that only their text identifies: the type of both is `invalid_request_error`, on Claude and other
servers."""

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
"""For other statuses: 5xx is a server_error, 4xx an invalid_request, 2xx a server_error."""

BY_TRANSPORT: tuple[tuple[type[BaseException], ProviderCode], ...] = (
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
    (json.JSONDecodeError, "malformed"),
    (UnicodeDecodeError, "malformed"),
)
"""Failures without an error body, for every SDK, the most specific class first."""


def code_of(*, status: int, error_type: str | None, error_code: str | None, text: str) -> ProviderCode:
    """The code of an error answer, by the tables above."""
    if (known := BY_ERROR_CODE.get(error_code or "")) is not None:
        return known
    by_status = BY_STATUS.get(status)
    # Servers use invalid_request_error also for failures with a status of their own, such as 404 and 413.
    is_vague = error_type == "invalid_request_error" and by_status is not None
    by_type = None if is_vague else BY_TYPE.get(error_type or "")
    code = by_type or by_status or _by_status_class(status)
    if code == "invalid_request":
        return next((found for pattern, found in BY_TEXT if pattern.search(text)), code)
    return code


def _by_status_class(status: int) -> ProviderCode:
    return "invalid_request" if 400 <= status < 500 else "server_error"


def retry_after_ms(headers: Mapping[str, str], *, now: Callable[[], float]) -> int | None:
    """The delay that the server asks for, in ms, from 0 to `MAX_RETRY_AFTER_MS`; None where there is no valid one.

    `retry-after-ms` is more exact and takes precedence; `retry-after` is in seconds or an HTTP date.
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


_PREFIXES: Mapping[ProviderCode, str] = {
    "timeout": "{server} did not answer in time",
    "network_error": "the connection to {server} failed",
    "malformed": "the answer of {server} cannot be read",
    "invalid_request": "the request cannot be sent",
}


def server_of(url: httpx2.URL) -> str:
    """Scheme, host and port of a URL."""
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def failure_message(code: ProviderCode, error: BaseException | None, *, server: str, is_advice: bool) -> str:
    """The message about a failure without an error body.

    Args:
        is_advice: The error's text is general advice of the SDK and is left out.
    """
    prefix = _PREFIXES.get(code, "the call of {server} failed").format(server=server)
    detail = _WAITS.get(type(error)) or ("" if is_advice else cut(str(error).strip(), MESSAGE_CHARS))
    return f"{prefix}: {detail}" if detail else prefix


_WAITS: Mapping[type[object], str] = {
    httpx2.ConnectTimeout: "no connection was made",
    httpx2.ReadTimeout: "the server fell silent",
    httpx2.WriteTimeout: "the server took nothing in",
    httpx2.PoolTimeout: "no connection was free",
}
"""Texts for the transport's timeouts, which have none of their own."""
