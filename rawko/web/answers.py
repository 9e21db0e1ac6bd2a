"""Answers of addresses under /api: JSON in ASCII, so that names that are not UTF-8 arrive, and problems in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from rawko.config import ConfigError

MAX_BODY: Final = 200_000
"""Bytes of a request."""


class Away(ConfigError):
    """What is asked for is somewhere that does not answer at the moment."""


class Json(Response):
    """A value as JSON; lone surrogates, which stand for bytes that are not UTF-8, become escapes."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def problem(status: int, code: str, message: str) -> Json:
    """An answer that says what is wrong."""
    return Json({"error": code, "message": message}, status)


async def json_body(request: Request) -> Mapping[str, Any]:
    """The JSON object that a page has sent.

    Raises:
        ConfigError: It is none, or too large.
    """
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_BODY:
            raise ConfigError(f"a request holds at most {MAX_BODY:,} bytes")
    try:
        given = json.loads(data or b"{}")
    except ValueError as error:
        raise ConfigError(f"the request is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise ConfigError("the request is no JSON object")
    return given
