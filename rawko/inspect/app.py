"""Builds the web application of the actors' inspector: pages of `rawko serve`, data for them, the numbered stream."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rawko import __version__
from rawko.inspect.routes import Parts, tree_routes
from rawko.inspect.streaming import push, stately_route
from rawko.web.answers import Json
from rawko.web.app import ROOT_TAG, serve_page, stream_route
from rawko.web.pages import packed


def make_app(parts: Parts, bridge: str | None = None) -> Starlette:
    """The application that inspects some trees of actors.

    Args:
        bridge: Address of a WebSocket that receives the stream in Stately's wire format.
    """
    trees, feed = parts.trees, parts.feed

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        works = [trees.watch(), trees.keep_states(), *([] if bridge is None else [push(trees, feed, bridge)])]
        tasks = [asyncio.create_task(work) for work in works]
        try:
            yield
        finally:
            feed.close()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def about(request: Request) -> Response:
        feed.expect()
        told = {"version": __version__, "folder": "this program", "start": feed.start, "n": feed.last}
        return Json(told)

    async def index(request: Request) -> Response:
        return Response(_index(parts.allows_events), media_type="text/html; charset=utf-8")

    routes = [
        Route("/", index, methods=["GET"]),
        Route("/pages/{name}", serve_page, methods=["GET"]),
        Route("/api/about", about, methods=["GET"]),
        stream_route(feed),
        stately_route(trees, feed),
        *tree_routes(parts),
    ]
    app = Starlette(
        routes=routes, lifespan=lifespan, middleware=[Middleware(GZipMiddleware, minimum_size=500, compresslevel=6)]
    )
    app.state.stop = feed.close
    return app


def _index(allows_events: bool) -> bytes:
    """The first page, with attributes that tell its script to show actors, and whether events may be sent."""
    content = gzip.decompress(packed("index.html") or b"")
    marked = b' data-shows="actors" data-events="%s"' % (b"yes" if allows_events else b"no")
    return content.replace(ROOT_TAG, ROOT_TAG + marked, 1)
