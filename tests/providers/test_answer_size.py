"""Answers without end, packed answers and large errors, from a real server over HTTP: memory stays bounded."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import textwrap
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rawko.providers import answer_size
from rawko.providers.anthropic.api import AnthropicProvider
from rawko.providers.anthropic.endpoint import Endpoint
from rawko.runtime.ports import ModelRequest, ProviderError
from rawko.vocabulary.messages import user_text

REQUEST = ModelRequest(purpose="select", model="m", system="S", messages=(user_text("go"),), timeout_ms=60_000)
Answer = Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[str]:
    """A server that answers every request with the same bytes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            size = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length:" in line)
            await reader.readexactly(size)
            await answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


def endless(head: str, pieces: Iterator[bytes], *, is_head_open: bool = False) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode() + (b"\r\n" if is_head_open else b"\r\n\r\n"))
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return answer


def repeated(piece: bytes, first: bytes = b"") -> Iterator[bytes]:
    yield first
    while True:
        yield piece


STREAM = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream"
PING = b'event: ping\ndata: {"type": "ping"}\n\n'
START = b'event: message_start\ndata: {"type": "message_start", "message": {"content": [], "usage": {}}}\n\n'


async def failure(answer: Answer) -> ProviderError:
    async with server(answer) as url:
        provider = AnthropicProvider(Endpoint(base_url=url, api_key="k"))
        try:
            with pytest.raises(ProviderError) as caught:
                await provider.create(REQUEST)
        finally:
            await provider.aclose()
    return caught.value


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds at which the endless need not be long."""
    monkeypatch.setattr(answer_size, "MAX_ANSWER_BYTES", 2_000_000)
    monkeypatch.setattr(answer_size, "MAX_EVENT_BYTES", 500_000)


@pytest.mark.parametrize(
    ("head", "pieces", "told"),
    [
        (STREAM, lambda: repeated(PING * 100, START), "more than 2,000,000 bytes"),
        (STREAM, lambda: repeated(b"x" * 10_000), "one event of the answer has more than 500,000 bytes"),
        (STREAM, lambda: repeated(b"data: x\n" * 1000), "one event of the answer has more than 400 lines"),
        (STREAM, lambda: repeated(b": comment\r\n" * 1000), "one event of the answer has more than 400 lines"),
        ("HTTP/1.1 200 OK\r\ncontent-type: application/json", lambda: repeated(b"[" * 9_999), "one event"),
        (STREAM + "\r\ncontent-encoding: br", lambda: repeated(b"x" * 9_999), "the answer is packed as 'br'"),
        (STREAM + "\r\ncontent-encoding: zstd", lambda: repeated(b"x" * 9_999), "the answer is packed as 'zstd'"),
        (
            STREAM + "\r\ncontent-encoding: gzip, gzip",
            lambda: repeated(b"x" * 9_999),
            "the answer is packed as 'gzip, gzip'",
        ),
    ],
)
async def test_an_answer_without_end_is_given_up(
    small: None, head: str, pieces: Callable[[], Iterator[bytes]], told: str
) -> None:
    error = await failure(endless(head, pieces()))
    assert error.code == "malformed" and error.message is not None
    assert told in error.message


async def test_headers_without_end_are_given_up() -> None:
    error = await failure(
        endless("HTTP/1.1 200 OK\r\nx: y", repeated(b"z: " + b"a" * 5_000 + b"\r\n"), is_head_open=True)
    )
    assert error.code == "network_error"


@pytest.mark.parametrize("status", [429, 500])
async def test_a_large_error_still_says_what_it_is(status: int) -> None:
    error = await failure(endless(f"HTTP/1.1 {status} Odd\r\nretry-after: 3", repeated(b"<p>" * 10_000)))
    assert (error.status, error.retry_after_ms) == (status, 3_000)
    assert len(error.message) < 1_200


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ("identity", bytes),
    ],
)
async def test_packed_answers_are_read(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"model": "m", "content": [], "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "é" * 200_000}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    ]
    body = pack("".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode())

    async def answer(writer: asyncio.StreamWriter) -> None:
        head = f"{STREAM}\r\ncontent-encoding: {encoding}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    async with server(answer) as url:
        provider = AnthropicProvider(Endpoint(base_url=url, api_key="k"))
        done = await provider.create(REQUEST)
        await provider.aclose()
    assert done.message.text == "é" * 200_000


BOMB = """
    import asyncio, resource, sys, zlib
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    from tests.providers.test_answer_size import STREAM, endless, failure, repeated

    def bomb(unit):
        packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        yield packer.compress(b"data: ") + packer.flush(zlib.Z_FULL_FLUSH)
        block = packer.compress(unit * 500_000) + packer.flush(zlib.Z_FULL_FLUSH)
        for _ in range(300):  # after a full flush a block stands for itself, so that it may be sent again
            yield block

    bombs = [list(filter(None, bomb(unit.encode().decode("unicode_escape").encode()))) for unit in sys.argv[2:]]
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 200_000_000, size + 200_000_000))
    for pieces in bombs:
        error = asyncio.run(failure(endless(STREAM + "\\r\\ncontent-encoding: gzip", iter(pieces))))
        print(error.code, error.message)
"""


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measures with /proc")
def test_a_bomb_needs_no_memory() -> None:
    """One of a single long line, and one of very many lines, read one after the other in a process of their own."""
    top = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOMB), top, "xx", r":\n"],
        capture_output=True,
        text=True,
        cwd=top,
        check=False,
        timeout=300,
    )
    long, many = done.stdout.splitlines() or [done.stderr, ""]
    for told in (long, many):
        assert told.startswith("malformed") and "has more than" in told, done.stdout + done.stderr
