"""The WebSockets of an inspector: sends the stream in Stately's wire format to clients, or to a bridge.

Each connection reads the recording at its own pace. A connection that is too slow joins again where rows were dropped,
so no messages queue up for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from rawko.inspect.stately import StatelyWire
from rawko.inspect.trees import Tree, Trees
from rawko.web.feed import Feed

PATH: Final = "/api/stately"
BACK: Final = 200
"""The number of earlier rows that a new connection receives, as in Stately's own adapter."""
POLL_S: Final = 0.04
_ROWS_AT_ONCE: Final = 100
_RETRY_S: Final = 2.0


def stately_route(trees: Trees, feed: Feed) -> WebSocketRoute:
    """The address to which `createWebSocketReceiver` of `@statelyai/inspect` connects."""

    async def connected(socket: WebSocket) -> None:
        await socket.accept()
        telling = asyncio.ensure_future(send_all(trees, feed, socket.send_text))
        listening = asyncio.ensure_future(_until_left(socket))
        try:
            await asyncio.wait({telling, listening}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (telling, listening):
                task.cancel()
                with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                    await task
            with suppress(RuntimeError, WebSocketDisconnect):
                await socket.close()

    return WebSocketRoute(PATH, connected)


async def _until_left(socket: WebSocket) -> None:
    """Read and ignore messages until the client disconnects."""
    with suppress(WebSocketDisconnect):
        while True:
            await socket.receive_text()


async def send_all(trees: Trees, feed: Feed, send: Callable[[str], Awaitable[Any]]) -> None:
    """Send all events of the trees until the inspector is closed."""
    wires: dict[str, StatelyWire] = {}
    while not feed.is_closed:
        is_full = False
        for tree in trees.all():
            is_full |= await _news(tree, wires, send)
        if not is_full:
            await asyncio.sleep(POLL_S)


async def _news(tree: Tree, wires: dict[str, StatelyWire], send: Callable[[str], Awaitable[Any]]) -> bool:
    """Send the new rows of a tree; True where more may be ready at once."""
    wire = wires.get(tree.id)
    if wire is None or wire.is_behind:
        wire = wires[tree.id] = StatelyWire(tree.source.recording)
        for message in wire.join(BACK):
            await send(json.dumps(message))
    before = wire.at
    for message in wire.news(_ROWS_AT_ONCE):
        await send(json.dumps(message))
    return wire.at - before == _ROWS_AT_ONCE


async def push(trees: Trees, feed: Feed, url: str) -> None:
    """Connect to a bridge (`createInspectorServer` of `@statelyai/inspect/server`) and send it all events.

    If the bridge cannot be reached or disconnects, it is tried again every two seconds.
    """
    from websockets.asyncio.client import connect
    from websockets.exceptions import WebSocketException

    while not feed.is_closed:
        with suppress(OSError, WebSocketException, TimeoutError):
            async with connect(url, max_queue=1, proxy=None) as bridge:
                await send_all(trees, feed, bridge.send)
                return
        await asyncio.sleep(_RETRY_S)
