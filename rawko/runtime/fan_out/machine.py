"""The machine that calls an actor once per item, as the actor of an invocation with `for each`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from rawko.chart.definition import Chart
from rawko.interpreter.bindings import Bindings
from rawko.runtime.actor_kinds import ActorFailed, ChildFactory, ChildMachine

CHART_FILE: Final = Path(__file__).with_name("fan_out.yaml")


def calls_each(chart: Chart, state: str | None, id: str) -> bool:
    """Whether an invocation calls its actor once per item; spawned actors, which belong to no state, never do."""
    return state is not None and any(invoke.id == id and invoke.for_each is not None for invoke in chart[state].invoke)


def fan_out(src: str, actor: Any) -> ChildFactory:
    """The actor that replaces the actor `src` where that is called once per item."""
    return ChildFactory(_FanOut(src, actor))


@cache
def fan_out_chart() -> Chart:
    """The chart, loaded on first use."""
    from rawko.chart.parse import load_chart

    return load_chart(CHART_FILE)


class _FanOut:
    """Makes the machine for one actor; keeps its bindings, since the cached plans of a chart belong to them."""

    def __init__(self, src: str, actor: Any) -> None:
        from rawko.runtime.fan_out.bindings import bindings

        self.__name__ = src
        self._bindings = bindings | Bindings()
        self._bindings.add("actor", src, actor)

    def __call__(self, given: Mapping[str, Any]) -> ChildMachine:
        begun = {"begun": 0, "done": 0, "failed": 0, "ended": []}
        return ChildMachine(fan_out_chart(), self._bindings, {**given, **begun}, _result)


def _result(output: Mapping[str, Any]) -> Any:
    if "error" in output:
        raise ActorFailed(output["error"])
    return output["output"]
