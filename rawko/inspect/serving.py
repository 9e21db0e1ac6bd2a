"""`serve`: runs the inspector of a program's own actors in a thread, until the program closes it."""

from __future__ import annotations

import asyncio
import atexit
import errno
import logging
import threading
from types import TracebackType
from typing import Final

from rawko.extras import require

require("web", "rawko.inspect")

from rawko.config import ConfigError  # noqa: E402 - the extra is asked for first
from rawko.inspect.app import make_app  # noqa: E402
from rawko.inspect.recording import KEPT  # noqa: E402
from rawko.inspect.routes import Parts  # noqa: E402
from rawko.inspect.sources import Source, connect  # noqa: E402
from rawko.inspect.streaming import PATH  # noqa: E402
from rawko.inspect.trees import Trees  # noqa: E402
from rawko.interpreter.running.interpreter import Interpreter  # noqa: E402
from rawko.runtime.actor import Actor  # noqa: E402
from rawko.web.feed import Feed  # noqa: E402
from rawko.web.serving import HOST, Served  # noqa: E402

STALE: Final = "This link belongs to an earlier start. The program has the link of this one: `inspector.link`."
_CLOSE_S: Final = 10.0
_LOGGER: Final = "uvicorn.error"


def serve(
    *shown: Actor | Interpreter,
    port: int = 0,
    allow_events: bool = False,
    kept: int = KEPT,
    stately: str | None = None,
) -> Inspector:
    """Show actors in a browser while they run.

        async with Actor(chart, bindings) as actor:
            with rawko.inspect.serve(actor) as inspector:
                print(inspector.link)
                await actor.run()

    Args:
        shown: Actors, each shown with all its descendants, started or not. An `Interpreter` is shown, but cannot
            receive events.
        port: Port of 127.0.0.1; 0 takes a free port.
        allow_events: Whether the page may send events to the actors. Without it the page is read only.
        kept: The most steps that are stored of each tree; the oldest are dropped.
        stately: Address of a bridge to Stately's inspector, such as "ws://localhost:8080"; it receives all events.

    Raises:
        MissingExtra: The extra "web" is not installed.
        OSError: The port is in use, or may not be used.
        TypeError: A value in `shown` is not an actor or a machine.
        TimeoutError: An actor runs in another thread, whose event loop is blocked.
        ValueError: `kept` is below 1, `port` is out of range, or `stately` is not the address of a WebSocket.
    """
    if kept < 1:
        raise ValueError(f"kept={kept}: at least one step is kept")
    if not 0 <= port <= 65_535:
        raise ValueError(f"port={port}: a port is a number from 0, which takes a free one, to 65535")
    if stately is not None and not stately.startswith(("ws://", "wss://")):
        raise ValueError(f"stately={stately!r}: the address of a WebSocket begins with ws:// or wss://")
    inspector = Inspector(port, allow_events, kept, stately)
    try:
        for one in shown:
            inspector.add(one)
    except BaseException:
        inspector.close()
        raise
    return inspector


class _Quiet(logging.Filter):
    """Removes the server's own information from the program's log: starts, stops, addresses with the secret.

    Warnings and errors pass, and so do all records of another server that the program may run.
    """

    def __init__(self, thread: threading.Thread) -> None:
        super().__init__()
        self._of = thread

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.thread != self._of.ident


class Inspector:
    """A running inspector, made by `serve`. It ends with `close`, with its `with` block, or with the program.

    Attributes:
        link: The address to open, with this inspector's secret in its fragment.
        stately: The address of the WebSocket with the stream in Stately's wire format, with the secret.
        port: The port on which it listens, on 127.0.0.1 only.
    """

    def __init__(self, port: int, allow_events: bool, kept: int, bridge: str | None) -> None:
        self._feed = feed = Feed()
        self._trees = Trees(feed)
        self._kept = kept
        self._sources: list[Source] = []
        parts = Parts(self._trees, feed, allow_events)
        try:
            self._served = Served(lambda: make_app(parts, bridge), port, STALE, "websockets-sansio")
        except ConfigError as error:
            told = f"port {port} of {HOST} is taken, or may not be used; port=0 takes a free one"
            raise OSError(errno.EADDRINUSE, told) from error
        self.link, self.port = self._served.link, self._served.port
        self.stately = f"ws://{HOST}:{self.port}{PATH}?secret={self._served.secret}"
        # Not in the program's loop: see docs/adr/0011. A daemon thread does not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name="rawko.inspect", daemon=True)
        self._quiet = _Quiet(self._thread)
        logging.getLogger(_LOGGER).addFilter(self._quiet)
        self._thread.start()
        atexit.register(self.close)

    def _run(self) -> None:
        asyncio.run(self._served.serve())

    def add(self, shown: Actor | Interpreter) -> None:
        """Show another actor or machine.

        Raises:
            TypeError, TimeoutError: As in `serve`.
        """
        source = connect(shown, f"a{len(self._sources) + 1}", self._kept)
        self._sources.append(source)
        self._trees.add(source)

    def close(self) -> None:
        """End the server; the actors continue without being recorded. A second call does nothing."""
        atexit.unregister(self.close)
        for source in self._sources:
            source.leave()
        self._sources = []
        self._served.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join(_CLOSE_S)
        self._served.close()
        logging.getLogger(_LOGGER).removeFilter(self._quiet)

    def __enter__(self) -> Inspector:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<rawko.inspect.Inspector on {HOST}:{self.port}>"  # without the secret, which would appear in logs
