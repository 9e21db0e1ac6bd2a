"""Builds the web application of a fleet's inspector: pages, addresses for tasks and runs, the numbered stream."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rawko import __version__
from rawko.fleet.database import fleet_url, shown
from rawko.web.answers import Json
from rawko.web.app import ROOT_TAG, serve_page, stream_route
from rawko.web.feed import Feed
from rawko.web.fleet.acting import FleetActor
from rawko.web.fleet.link import FleetLink
from rawko.web.fleet.opened_runs import OpenedRuns
from rawko.web.fleet.tasks_api import task_routes
from rawko.web.fleet.watch import FleetWatch
from rawko.web.pages import packed, type_of
from rawko.web.runs_api import run_routes


def make_fleet_app(environ: Mapping[str, str], folder: Path) -> Starlette:
    """The application that inspects a fleet.

    Args:
        environ: The environment of rawko; it names the database.
        folder: The fleet's folder on this machine, for copies of runs.

    Raises:
        FleetError: No fleet is named.
    """
    name = shown(fleet_url(environ))
    feed, asked, watched = Feed(), FleetLink(environ), FleetLink(environ)
    runs = OpenedRuns(asked, feed, environ, folder)
    watch = FleetWatch(watched, runs, feed)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(watch.run())
        try:
            yield
        finally:
            feed.close()
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            await runs.close()
            for link in (asked, watched):
                await link.close()

    async def about(request: Request) -> Response:
        feed.expect()
        return Json({"version": __version__, "folder": name, "start": feed.start, "n": feed.last})

    async def index(request: Request) -> Response:
        content = gzip.decompress(packed("index.html") or b"")
        marked = content.replace(ROOT_TAG, ROOT_TAG + b' data-shows="fleet"', 1)
        return Response(marked, media_type=type_of("index.html"))

    routes = [
        Route("/", index, methods=["GET"]),
        Route("/pages/{name}", serve_page, methods=["GET"]),
        Route("/api/about", about, methods=["GET"]),
        stream_route(feed),
        *task_routes(asked, feed, FleetActor(asked, runs)),
        *run_routes(runs),
    ]
    app = Starlette(
        routes=routes, lifespan=lifespan, middleware=[Middleware(GZipMiddleware, minimum_size=500, compresslevel=6)]
    )
    app.state.stop = feed.close
    return app
