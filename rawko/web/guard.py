"""Accepts requests of this server's own page, and refuses all others.

A page of another site can make a browser send requests to loopback. Four checks keep it out:
  Host    names this server (a foreign name that resolves to 127.0.0.1 is refused)
  Origin  is this server, where the browser sends one; `Sec-Fetch-Site` is not another site
  secret  one per start, in a header of each request for data; never in a cookie, which a browser would send by itself
  CSP     the page runs and loads what this server sends, and no text of a run can become markup
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from hmac import compare_digest
from typing import Final

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER: Final = "x-rawko-secret"
API: Final = "/api/"
POLICY: Final = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""With trusted types the browser refuses to turn text into markup, as `innerHTML` does."""
HEADERS: Final = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
)
STALE: Final = "This link belongs to an earlier start of the server. `rawko serve` prints the link of this one."


class Guard:
    """Checks each request before the application sees it, and adds the protecting headers to each response.

    Args:
        hosts: Accepted values of the Host header, such as "127.0.0.1:7341".
        secret: The secret of this start of the server.
        stale: The message that a page with another secret shows.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str], secret: str, stale: str = STALE) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._secret = secret.encode()
        self._stale = stale

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            with suppress(asyncio.CancelledError):  # the server stops without waiting for answers
                await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "http":
            status, code, message = refusal
            response = JSONResponse({"error": code, "message": message}, status)
            await response(scope, receive, _with_headers(send))
        else:
            await receive()
            await send({"type": "websocket.close", "code": 4403, "reason": refusal[1]})

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        """Status, code and message of the reason to refuse a request; None where it is accepted."""
        headers = Headers(scope=scope)
        for name in ("host", "origin"):
            if len(headers.getlist(name)) > 1:
                return 400, name, f"a request has one header {name.title()}, and not several"
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return 421, "host", f"this server is not {host!r}; accepted: {', '.join(sorted(self._hosts))}"
        origin = headers.get("origin")
        if origin is not None and origin.lower().removeprefix("http://") not in self._hosts:
            return 403, "origin", f"a page of {origin!r} may not ask this server"
        if headers.get("sec-fetch-site", "same-origin") in ("cross-site", "same-site") and self._is_data(scope):
            return 403, "origin", "a page of another site may not ask this server"
        is_asked = self._is_data(scope) or scope["type"] == "websocket"
        if is_asked and not compare_digest(_secret_of(scope, headers).encode(), self._secret):
            return 401, "stale-secret", self._stale
        return None

    @staticmethod
    def _is_data(scope: Scope) -> bool:
        path: str = scope["path"]
        return path.startswith(API)


def _secret_of(scope: Scope, headers: Headers) -> str:
    """The secret of a request, from its header; for a WebSocket, which cannot have the header, from the address."""
    if scope["type"] == "websocket":
        return QueryParams(scope["query_string"]).get("secret", "")
    return headers.get(HEADER, "")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS:
                headers[name] = value
        await send(message)

    return sending
