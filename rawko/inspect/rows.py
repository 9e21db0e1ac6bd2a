"""Converts rows of a recording to rows of the pages' list; `ROW` in `web/pages/model.js` names the columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from rawko.chart.definition import Chart
from rawko.cutting import cut
from rawko.inspect.json_values import plain
from rawko.inspect.recording import Recording
from rawko.render.words import event_text, timers_by_event
from rawko.runtime.inspection import InspectionEvent
from rawko.vocabulary.visible import visible_line

LINE_CHARS: Final = 200
_READ_CHARS: Final = 1_000
_DONE, _FAILED = "done.invoke.", "error.invoke."


def lane_of(recording: Recording, path: str) -> str:
    """A short name of an actor: the chart's name for the root, the path below the root for the others."""
    return recording.origin.chart.name if path == "root" else path.removeprefix("root/")


def row_of(recording: Recording, number: int, event: InspectionEvent, started: float) -> list[Any]:
    """A row of the pages' list.

    Args:
        started: Time of the first row, in seconds of the actor's clock.
    """
    path = event["actor"]
    known = recording.actors.get(path)
    kind, words, detail, is_error = _told(event, None if known is None else known.chart)
    states = [name for name in event.get("configuration", ()) if isinstance(name, str)]
    row: list[Any] = [number, round(float(event["time"]) - started, 3), lane_of(recording, path), path, kind]
    row += [line(words), line(detail), line(name_of(event)), int(is_error), None, 0, 0, None, [], 0]
    return [*row, states[1:] or states, None, None, None, None]


def name_of(event: InspectionEvent) -> str:
    """The name of an event in the machine; "(by itself)" for a step without an event."""
    if event["type"] != "step":
        return str(event["type"])
    return str(event["event"]["name"]) if event["event"] else "(by itself)"


def _told(event: InspectionEvent, chart: Chart | None) -> tuple[str, str, str, bool]:
    """Kind, words and detail of a row, and whether it is a failure."""
    match event["type"]:
        case "crashed":
            return "error", "crashed", event["error"], True
        case "done":
            return "end", "done", _short(event.get("output")), False
        case "stopped":
            return "end", "stopped", "", False
        case "undelivered":
            return "error", f"{event.get('event', '')} was not delivered", event.get("reason", ""), True
    told = event["event"]
    if told is None:
        return (
            "event",
            "start" if event["receipt"] is None and not event["indexes"] else "by itself",
            _way(event),
            False,
        )
    name, data = told["name"], told["data"]
    if name.startswith(_DONE):
        return "tool", f"{name.removeprefix(_DONE)} done", _short(data.get("output")), False
    if name.startswith(_FAILED):
        error = data.get("error")
        said = error.get("message") if isinstance(error, Mapping) else error
        return "tool", f"{name.removeprefix(_FAILED)} failed", str(said), True
    words = event_text(name, timers_by_event(chart)) if chart is not None and name.startswith("after.") else name
    words = f"{words} {_short(data)}" if data else words
    receipt = event["receipt"]
    return "event", words, _way(event) if receipt in (None, "taken") else str(receipt), False


def _way(event: InspectionEvent) -> str:
    """The targets of the last transitions of a step."""
    return " ".join(f"→ {target}" for _, target, _ in event["transitions"][-3:] if target)


def line(text: object) -> str:
    """A text as one short line, with control characters made visible."""
    return cut(visible_line(" ".join(str(text)[:_READ_CHARS].split())), LINE_CHARS, "…")


def _short(value: Any) -> str:
    if value is None or value == {}:
        return ""
    if isinstance(value, str):
        return value[:_READ_CHARS]
    try:
        return json.dumps(_small(value), ensure_ascii=False, default=plain)[:_READ_CHARS]
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__


def _small(value: Any, depth: int = 3) -> Any:
    """The beginning of a value, which may have megabytes: a line shows only a part."""
    if isinstance(value, str):
        return value[:LINE_CHARS]
    if depth == 0 and isinstance(value, Mapping | list | tuple):
        return "…"
    if isinstance(value, Mapping):
        return {str(key)[:LINE_CHARS]: _small(value[key], depth - 1) for key in list(value)[:8]}
    if isinstance(value, list | tuple):
        return [_small(part, depth - 1) for part in value[:8]]
    return value
