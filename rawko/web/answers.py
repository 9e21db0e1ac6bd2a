"""HTTP answers under /api: JSON in ASCII, so that names that are not UTF-8 survive, and errors as messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from rawko.config import ConfigError

MAX_BODY: Final = 200_000
"""The most bytes of a request's body."""


class Unavailable(ConfigError):
    """The requested data is on another machine or in a database that does not answer at present."""


class Json(Response):
    """A value as JSON; lone surrogates, which stand for bytes that are not UTF-8, become escapes."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def problem(status: int, code: str, message: str) -> Json:
    """An error answer, with a code for programs and a message for people."""
    return Json({"error": code, "message": message}, status)


async def json_body(request: Request) -> Mapping[str, Any]:
    """The JSON object in the body of a request.

    Raises:
        ConfigError: The body is not a JSON object, or is too large.
    """
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_BODY:
            raise ConfigError(f"a request holds at most {MAX_BODY:,} bytes")
    try:
        given = json.loads(data or b"{}")
    except RecursionError as error:
        raise ConfigError("the request is nested too deeply") from error
    except ValueError as error:
        raise ConfigError(f"the request is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise ConfigError("the request is no JSON object")
    return given
