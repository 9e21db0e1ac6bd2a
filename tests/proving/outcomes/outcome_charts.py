"""Random charts whose invocations end by named outcomes and failures, with what their guards and actions read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from hypothesis import strategies as st
from pydantic import BaseModel

from rawko.chart import parse_chart
from rawko.chart.definition import Chart
from rawko.interpreter import Bindings
from rawko.interpreter.data.updates import assign
from rawko.proving import Bounds
from rawko.proving.bounding.endings import Ending

LEVELS = (0, 1, 2)
VERDICTS = ("go", "stop")
ACTORS = ("ask", "tell")
DONE_GUARDS = ("verdict_is(value='go')", "verdict_is(value='stop')", "scores", "is_it(found=event.output.verdict)")
ERROR_GUARDS = ("failed_with(code='busy')", "is_late")
OTHER_GUARDS = ("level_is(value=0)", "level_is(value=2)", "is_noted")
ACTIONS = ("raise_level", "keep_score", "note", "reset")


class Levels(BaseModel):
    level: int = 0
    notes: str = ""


def chart_functions() -> Bindings:
    """The functions as a project has them: they read what they need, and know nothing of outcomes."""
    bindings = Bindings()
    bindings.add("context", "Levels", Levels)
    guards = {
        "verdict_is": lambda context, event, value: event.output["verdict"] == value,
        "scores": lambda context, event: event.output["score"] > 1,
        "is_it": lambda context, event, found: found == "go",
        "failed_with": lambda context, event, code: event.error["code"] == code,
        "is_late": lambda context, event: event.error.get("late", False),
        "level_is": lambda context, event, value: context.level == value,
        "is_noted": lambda context, event: context.notes == "noted",
    }
    actions = {
        "raise_level": lambda context, event: assign(level=min(context.level + 1, 2)),
        "keep_score": lambda context, event: assign(level=event.output["score"]),
        "note": lambda context, event: assign(notes="noted"),
        "reset": lambda context, event: assign(level=0),
    }
    for name, function in guards.items():
        bindings.add("guard", name, function)
    for name, function in actions.items():
        bindings.add("action", name, function)
    return bindings


@st.composite
def endings(draw: st.DrawFn, fields: Mapping[str, st.SearchStrategy[Any]]) -> tuple[Ending, ...]:
    found: list[Ending] = []
    for name in ("first", "second", "third")[: draw(st.integers(1, 3))]:
        value = {key: draw(values) for key, values in fields.items() if draw(st.integers(0, 2))}
        found.append(Ending(name, value))
    return tuple(found)


OUTPUTS = {"verdict": st.sampled_from(VERDICTS), "score": st.sampled_from(LEVELS)}
FAILURES = {"code": st.sampled_from(["busy", "broken"]), "late": st.booleans()}


@st.composite
def outcome_charts(draw: st.DrawFn) -> tuple[Chart, Bounds]:
    """A chart, and bounds with outcomes and failures for some of its actors."""
    names = [f"s{place}" for place in range(draw(st.integers(2, 4)))]
    states = [_state(draw, name, [*names, "over"], names[place + 1 :]) for place, name in enumerate(names)]
    if draw(st.integers(0, 2)) == 0:
        states.append(_parallel(draw))
        states[0]["transitions"].append({"event": "BOTH", "target": "both"})
    states.append({"name": "over", "type": "final"})
    root = {"name": "root", "initial": names[0], "states": states}
    text = yaml.safe_dump(
        {"statechart": {"name": "outcomes", "context": "Levels", "root state": root}}, sort_keys=False
    )
    outcomes = {actor: draw(endings(OUTPUTS)) for actor in ACTORS if draw(st.integers(0, 3))}
    failures = {actor: draw(endings(FAILURES)) for actor in ACTORS if draw(st.booleans())}
    context: dict[str, Any] = {"level": LEVELS} if draw(st.integers(0, 3)) else {}
    return parse_chart(text), Bounds(context=context, outcomes=outcomes, failures=failures)


def _state(draw: st.DrawFn, name: str, targets: list[str], later: list[str]) -> dict[str, Any]:
    state: dict[str, Any] = {"name": name, "transitions": []}
    if draw(st.integers(0, 3)):
        state["invoke"] = _invoke(draw, name, targets)
    if draw(st.integers(0, 2)) == 0:
        state["transitions"].append(_row(draw, targets, OTHER_GUARDS) | {"event": "E"})
    if later and draw(st.integers(0, 4)) == 0:
        guard = draw(st.sampled_from([*DONE_GUARDS[:2], *OTHER_GUARDS]))
        state["always"] = [{"guard": guard, "target": draw(st.sampled_from(later))}]
    return state


def _parallel(draw: st.DrawFn) -> dict[str, Any]:
    regions = []
    for region in range(2):
        own = [f"r{region}_{place}" for place in range(2)]
        inner = [{"name": one, "transitions": [], "invoke": _invoke(draw, one, own)} for one in own]
        regions.append({"name": f"r{region}", "initial": own[0], "states": inner})
    return {"name": "both", "parallel states": regions, "transitions": [{"event": "OUT", "target": "over"}]}


def _invoke(draw: st.DrawFn, name: str, targets: list[str]) -> dict[str, Any]:
    done = [_row(draw, targets, (*DONE_GUARDS, *OTHER_GUARDS)) for _ in range(draw(st.integers(1, 3)))]
    failed = [_row(draw, targets, (*ERROR_GUARDS, *OTHER_GUARDS)) for _ in range(draw(st.integers(0, 2)))]
    found: dict[str, Any] = {"id": f"i_{name}", "src": draw(st.sampled_from(ACTORS)), "on done": done}
    return found | ({"on error": failed} if failed else {})


def _row(draw: st.DrawFn, targets: list[str], guards: tuple[str, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {"target": draw(st.sampled_from(targets))}
    if draw(st.integers(0, 3)):
        row["guard"] = draw(st.sampled_from(guards))
        if draw(st.integers(0, 4)) == 0:
            row["guard"] = f"not {row['guard']}"
    if draw(st.integers(0, 2)) == 0:
        row["action"] = draw(st.sampled_from(ACTIONS))
    return row
