"""Writes a run as one offline page: the served modules and styles, with all data for them inside the file.

It needs no server, no network and no extra: the page's policy allows only the script and styles in the file, by their
hashes.
"""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from html import escape
from typing import Any, Final

from rawko.app.inspection.drawing import draw_chart
from rawko.app.inspection.moment import moment_of, step_details
from rawko.app.inspection.path import PathReader
from rawko.app.inspection.trees import tree_diff
from rawko.app.time_travel.recorded_run import Past, open_past
from rawko.app.views.plan import PlanHistory
from rawko.app.views.reading import open_steps
from rawko.app.views.steps import StepView
from rawko.app.views.summary import read_run
from rawko.config import ConfigError, Settings
from rawko.web.cutting import shown
from rawko.web.pages import joined_script, joined_style
from rawko.web.rows import row_of

MAX_STEPS: Final = 3_000
"""The most steps whose details the page has; further steps are only listed."""


async def report_page(run: str, settings: Settings) -> str:
    """A run as an HTML page.

    Raises:
        ConfigError: There is no such run, or it cannot be read.
    """
    view = await read_run(run, settings)
    plans = PlanHistory()
    async with open_past(run, settings) as past, open_steps(past.record, also=plans.take) as reader:
        views = [step async for step in reader.steps()]
        path = PathReader()
        await path.read(past)
        answers = await _answers(run, past, views, path)
        details = {str(number): shown(told) async for number, told in step_details(past, MAX_STEPS)}
        moments = {str(past.last): shown(await _moment(past))} if past.last else {}
    answers[f"runs/{run}/plans"] = {"plans": plans.to_json()}
    answers[f"runs/{run}"] = {"n": 0, "start": "", "view": view.to_json()}
    data = {"run": run, "answers": answers, "steps": details, "moments": moments}
    drawings = {chart.name: _drawn(chart) for chart in path.charts}
    return _page(view.task, data, drawings)


async def _answers(run: str, past: Past, views: list[StepView], path: PathReader) -> dict[str, Any]:
    """The answers to the page's requests, by the address that the page would request."""
    base = f"runs/{run}"
    charts = [{"name": chart.name, "states": len(chart.states)} for chart in path.charts]
    found: dict[str, Any] = {
        f"{base}/steps": {"count": len(views), "first": 0, "rows": [row_of(view) for view in views]},
        f"{base}/path?after=0": {
            "charts": charts,
            "problem": path.problem,
            "moves": [move.to_json() for move in path.moves],
        },
    }
    for view in views:
        if view.files:
            step = view.of_step or view.number
            address = f"{base}/diff?a={max(step - 1, 1)}&b={view.number}"
            try:
                found[address] = (await tree_diff(past, str(max(step - 1, 1)), str(view.number))).to_json()
            except ConfigError:  # a damaged snapshot: the step is shown without its files
                continue
    return found


async def _moment(past: Past) -> Any:
    try:
        return await moment_of(past, past.last)
    except ConfigError as error:  # for example a changed chart: the steps are shown without the conversation
        return {"step": past.last, "conversation": [], "plan": None, "states": {}, "problem": str(error)}


def _drawn(chart: Any) -> str:
    try:
        return draw_chart(chart)
    except ConfigError:  # too large for a drawing: the page shows an outline
        return ""


# ---------------------------------------------------------------- one file


def _page(title: str, data: dict[str, Any], drawings: dict[str, str]) -> str:
    script, style = joined_script(), joined_style()
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'"
    island = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    pictures = "".join(
        f'<template id="drawing-{escape(name, quote=True)}">{svg}</template>' for name, svg in drawings.items() if svg
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title.splitlines()[0] if title else 'rawko')}</title>\n<style>{style}</style>\n</head>\n"
        f'<body>\n<div id="app"></div>\n{pictures}\n'
        f'<script type="application/json" id="report-data">{island}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
