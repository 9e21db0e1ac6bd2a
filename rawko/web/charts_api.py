"""HTTP addresses for charts: the list, one chart as saved, its picture, simulation and coverage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rawko.app.inspection.charts import chart_svg, list_charts, read_chart, stamp_of
from rawko.app.inspection.covering import coverage_of
from rawko.app.inspection.simulating import simulate
from rawko.config import ConfigError, Settings
from rawko.web.answers import Json, json_body, problem
from rawko.web.feed import Feed

_POLL_S = 0.15
_PATIENCE_S = 20.0


def chart_routes(settings: Settings, feed: Feed) -> list[Route]:
    """The addresses under /api/charts."""
    folder, running = settings.workspace, asyncio.Lock()

    async def charts(request: Request) -> Any:
        return {"charts": await asyncio.to_thread(list_charts, folder)}

    async def chart(request: Request) -> Any:
        """A chart; with `after`, the answer waits until its file has changed since then, or for at most
        `_PATIENCE_S`."""
        path, after = request.query_params.get("path", ""), request.query_params.get("after")
        stamp = stamp_of(folder, path)
        if after is not None:
            for _ in range(int(_PATIENCE_S / _POLL_S)):
                if str(stamp) != after or feed.is_closed or await request.is_disconnected():
                    break
                await asyncio.sleep(_POLL_S)
                stamp = stamp_of(folder, path)
            if str(stamp) == after:
                return {"stamp": after, "is_same": True}
        told = await asyncio.to_thread(read_chart, folder, path)
        return {**told, "stamp": str(stamp)}

    async def picture(request: Request) -> Any:
        svg = await asyncio.to_thread(chart_svg, folder, request.query_params.get("path", ""))
        return Response(svg, media_type="image/svg+xml")

    async def simulated(request: Request) -> Any:
        given = await json_body(request)
        steps = given.get("steps")
        if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
            raise ConfigError("steps is no list of objects")
        return await asyncio.to_thread(simulate, folder, str(given.get("path", "")), steps)

    async def covered(request: Request) -> Any:
        given = await json_body(request)
        async with running:  # one contract at a time: each is a process
            return await coverage_of(settings, str(given.get("path", "")))

    table: dict[str, Callable[[Request], Awaitable[Any]]] = {
        "/api/charts": charts,
        "/api/chart": chart,
        "/api/chart.svg": picture,
    }
    routes = [Route(path, _asking(ask), methods=["GET"]) for path, ask in table.items()]
    posted = {"/api/simulate": simulated, "/api/coverage": covered}
    return [*routes, *(Route(path, _asking(act), methods=["POST"]) for path, act in posted.items())]


def _asking(ask: Callable[[Request], Awaitable[Any]]) -> Callable[[Request], Awaitable[Response]]:
    async def answered(request: Request) -> Response:
        try:
            told = await ask(request)
            return told if isinstance(told, Response) else Json(told)
        except ConfigError as error:
            return problem(422, "refused", str(error))

    return answered
