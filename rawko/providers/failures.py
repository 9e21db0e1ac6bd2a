"""ProviderErrors by code: the only place that defines the category and the usual HTTP status of a code.

Mapping a server's answer to a code is elsewhere (`http.failures`).
"""

from __future__ import annotations

from rawko.runtime.ports import ProviderError
from rawko.vocabulary.errors import Category, ProviderCode
from rawko.vocabulary.usage import Usage
from rawko.vocabulary.wellformed import whole_text

USUAL_STATUS: dict[ProviderCode, int] = {
    "rate_limited": 429,
    "overloaded": 529,
    "server_error": 500,
    "authentication": 401,
    "billing": 402,
    "permission": 403,
    "not_found": 404,
    "invalid_request": 400,
    "context_window": 400,
}
"""The HTTP status of a Messages-API server for a code; the other codes arise below HTTP or inside a 200."""


def category_of(code: ProviderCode) -> Category:
    """The S6-040 category of a code: a timeout is its own category, all else is a provider_error.

    Source: S6-040, C-15.
    """
    return "timeout" if code == "timeout" else "provider_error"


def provider_error(
    message: str,
    code: ProviderCode,
    *,
    retry_after_ms: int | None = None,
    status: int | None = None,
    usage: Usage | None = None,
) -> ProviderError:
    """A ProviderError whose category follows from its code."""
    return ProviderError(
        whole_text(message),
        code=code,
        category=category_of(code),
        retry_after_ms=retry_after_ms,
        status=status,
        usage=usage,
    )
