"""SCXML's basic HTTP event processor: sessions receive and send events by POST.

    session = Session()
    async with HttpEvents(session):
        async with Actor(chart, actors, session=session, trusted=True) as actor: ...

Each session has its own address, `_ioprocessors['basichttp'].location`: on the loopback interface, with a secret in it,
so that no web page can guess it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from rawko.extras import MissingExtra
from rawko.interpreter.data.events import ENVELOPE
from rawko.interpreter.data.values import thaw
from rawko.interpreter.foreign.scxml_values import HTTP_PROCESSOR
from rawko.runtime.actor_parts.members import Tree
from rawko.runtime.errors import InboxFull, RuntimeFault

try:
    import h11
except ModuleNotFoundError as error:
    raise MissingExtra("http", "SCXML's HTTP event processor", "h11") from error

MAX_BODY = 1_000_000
"""Largest size of a message, in bytes."""

TIMEOUT_S = 10.0
EVENT_NAME = "_scxmleventname"
ANY_POST = "HTTP.POST"
"""The name of an event whose sender gave no name."""

_FORM = "application/x-www-form-urlencoded"


class NotDelivered(RuntimeFault):
    """A message could not be posted; the text says why."""


class _Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class HttpEvents:
    """Receives and sends events by HTTP for the actors of one session.

    Args:
        session: Its actors are addressed by their paths.
        host, port: Address to listen on; a free port by default.
    """

    def __init__(self, session: Tree, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._session = session
        self._host, self._port = host, port
        self._secret = secrets.token_urlsafe(16)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._base = ""

    async def __aenter__(self) -> HttpEvents:
        self._server = await asyncio.start_server(self._serve, self._host, self._port)
        self._base = f"http://{self._host}:{self._server.sockets[0].getsockname()[1]}/{self._secret}/"
        self._session.http = self
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.http = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def location(self, path: str) -> str:
        """The address of the actor with that path."""
        return self._base + quote(path)

    # ------------------------------------------------------------ out

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task that is cancelled when the processor ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def until_idle(self) -> None:
        """Wait until all messages have been sent."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def post(self, url: str, event: str, data: Mapping[str, Any]) -> None:
        """Send an event.

        Raises:
            NotDelivered: There was no answer, or an error.
        """
        import httpx2

        body, kind, query = _message(event, data)
        address = f"{url}?{query}" if query else url
        try:
            async with httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
                answer = await client.post(address, content=body, headers={"content-type": kind})
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise NotDelivered(f"{type(error).__name__}: {error}") from error
        if not answer.is_success:
            raise NotDelivered(f"answered {answer.status_code}")

    # ------------------------------------------------------------ in

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                status, reason = await self._answer(connection, reader)
                writer.write(_response(connection, status, reason))
                await writer.drain()
        except (TimeoutError, ConnectionError, h11.LocalProtocolError):
            pass
        finally:
            writer.close()

    async def _answer(self, connection: h11.Connection, reader: asyncio.StreamReader) -> tuple[int, str]:
        try:
            request, body = await _read(connection, reader)
            self._take(request, body)
        except _Refused as refused:
            return refused.status, str(refused)
        except h11.RemoteProtocolError as error:
            return 400, str(error)
        except InboxFull as error:
            return 503, str(error)
        return 200, "taken"

    def _take(self, request: h11.Request, body: bytes) -> None:
        """Queue the event at the actor in the request's path."""
        if request.method != b"POST":
            raise _Refused(405, "accepted: POST")
        target = urlsplit(request.target.decode("ascii"))
        secret, _, path = unquote(target.path).lstrip("/").partition("/")
        actor = (
            self._session.actors.get(path) if secrets.compare_digest(secret.encode(), self._secret.encode()) else None
        )
        if actor is None:
            raise _Refused(404, "no such session")
        name, fields = _event(request, target.query, body)
        said: dict[str, Any] = {"raw": _raw(request, body), "origintype": HTTP_PROCESSOR}
        if not isinstance(fields, dict):
            said["content"], fields = fields, {}
        actor.put(name, {**fields, ENVELOPE: said})


async def _read(connection: h11.Connection, reader: asyncio.StreamReader) -> tuple[h11.Request, bytes]:
    """Read the whole request."""
    request: h11.Request | None = None
    body = b""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(65_536))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
            if len(body) > MAX_BODY:
                raise _Refused(413, f"more than {MAX_BODY} bytes")
        elif isinstance(event, h11.EndOfMessage):
            assert request is not None
            return request, body
        else:
            raise _Refused(400, "the connection was closed")


def _response(connection: h11.Connection, status: int, reason: str) -> bytes:
    text = f"{reason}\n".encode()
    headers = [
        ("content-type", "text/plain; charset=utf-8"),
        ("content-length", str(len(text))),
        ("connection", "close"),
    ]
    if connection.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return b""
    parts = (h11.Response(status_code=status, headers=headers), h11.Data(text), h11.EndOfMessage())
    return b"".join(connection.send(part) or b"" for part in parts)


def _event(request: h11.Request, query: str, body: bytes) -> tuple[str, dict[str, str] | str]:
    """Name and data of the event: fields of a form, or a text."""
    kind = next((value.decode("latin-1") for name, value in request.headers if name == b"content-type"), "")
    text = body.decode("utf-8", "replace")
    given = dict(parse_qsl(query, keep_blank_values=True))
    if kind.partition(";")[0].strip().lower() == _FORM:
        given |= dict(parse_qsl(text, keep_blank_values=True))
        name = given.pop(EVENT_NAME, ANY_POST)
        return name or ANY_POST, given
    return given.get(EVENT_NAME) or ANY_POST, text


def _raw(request: h11.Request, body: bytes) -> str:
    lines = [f"{request.method.decode()} {request.target.decode('latin-1')} HTTP/{request.http_version.decode()}"]
    lines += [f"{name.decode('latin-1')}: {value.decode('latin-1')}" for name, value in request.headers]
    return "\r\n".join((*lines, "", body.decode("utf-8", "replace")))


def _message(event: str, data: Mapping[str, Any]) -> tuple[bytes, str, str]:
    """Body, content type, and query of a message."""
    said = data.get(ENVELOPE, {})
    if "content" in said:
        content = thaw(said["content"])
        query = urlencode({EVENT_NAME: event}) if event else ""
        return (content if isinstance(content, str) else _text(content)).encode(), "text/plain; charset=utf-8", query
    return urlencode(list(_fields(event, data))).encode(), _FORM, ""


def _fields(event: str, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if event:
        yield EVENT_NAME, event
    for name, value in data.items():
        if name != ENVELOPE:
            yield name, value if isinstance(value, str) else _text(thaw(value))


def _text(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
