"""Builds the web application of the inspector: pages, addresses for data and actions, the numbered stream."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rawko import __version__
from rawko.app.inspection.acting import Actor
from rawko.config import Settings
from rawko.web.answers import Json, problem
from rawko.web.charts_api import chart_routes
from rawko.web.feed import Feed
from rawko.web.library import Library
from rawko.web.pages import packed, type_of
from rawko.web.runs import FolderRuns
from rawko.web.runs_api import list_route, run_routes
from rawko.web.watch import Watch

_DIGITS: Final = 18
"""The most digits of a number in the stream; Python refuses to read a number of thousands of digits."""
ROOT_TAG: Final = b'<html lang="en"'
"""The beginning of the first page; attributes that choose what the page shows are inserted after it."""


def make_app(settings: Settings, reread: Callable[[], Settings] | None = None) -> Starlette:
    """The application that inspects the runs and charts of a folder.

    Args:
        settings: Settings of the folder.
        reread: Reads the settings again before a run is rewound or forked; see `Actor`.
    """
    feed = Feed()
    library = Library(settings)
    watch = Watch(library, feed)
    runs = FolderRuns(settings, library, feed, Actor(settings, reread=reread))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(work) for work in (watch.run(), library.prepare())]
        try:
            yield
        finally:
            feed.close()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await library.close()

    async def about(request: Request) -> Response:
        feed.expect()
        told = {"version": __version__, "folder": str(settings.workspace), "start": feed.start, "n": feed.last}
        return Json(told)

    routes = [
        Route("/", serve_page, methods=["GET"]),
        Route("/pages/{name}", serve_page, methods=["GET"]),
        Route("/api/about", about, methods=["GET"]),
        stream_route(feed),
        list_route(settings, feed),
        *run_routes(runs),
        *chart_routes(settings, feed),
    ]
    app = Starlette(
        routes=routes, lifespan=lifespan, middleware=[Middleware(GZipMiddleware, minimum_size=500, compresslevel=6)]
    )
    app.state.stop = feed.close
    return app


def stream_route(feed: Feed) -> Route:
    """The address of the numbered stream: server-sent events after the number that the page has received."""

    async def stream(request: Request) -> Response:
        start, _, number = request.query_params.get("after", "").partition(".")
        after = int(number) if number.isascii() and number.isdigit() and len(number) <= _DIGITS else 0
        return StreamingResponse(feed.lines(start, after), media_type="text/event-stream")

    return Route("/api/stream", stream, methods=["GET"])


async def serve_page(request: Request) -> Response:
    """Serves a file of the pages; "/" is the first page."""
    name = request.path_params.get("name", "index.html")
    found = packed(name)
    if found is None:
        return problem(404, "missing", f"there is no page {name!r}")
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found, media_type=type_of(name), headers={"content-encoding": "gzip"})
    return Response(gzip.decompress(found), media_type=type_of(name))
