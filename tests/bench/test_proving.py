"""Configurations per second of `rawko prove`, beside XState's `getAdjacencyMap` and minicheck on the same regions:
`make bench`."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rawko.chart import parse_chart
from rawko.proving import Bounds, ControlSystem, check_properties, explore
from rawko.proving.budgets import Budget
from rawko.proving.reduction.split import SplitExploration, explore_split
from rawko.proving.reduction.verdicts import check_all
from tests.formats.xstate_node import NoXState, installed_xstate
from tests.proving.reduction.region_charts import grid

REGIONS, STATES = 8, 3
COUNT = STATES**REGIONS
MORE = {"control only": "", "guards and actions": ", guard: has_more, action: count"}
LEAST = {"control only": 20_000, "guards and actions": 6_000}
"""Configurations per second, below which something is wrong on any machine; a fifth of the goal."""


def cpu_s() -> float:
    """CPU time of this process and of those that it has waited for, in seconds: others on the machine do not count."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


MEASURED = pytest.mark.benchmark(group="prove: 8 regions of 3 states, 6,561 configurations (CPU time)", timer=cpu_s)


@pytest.mark.parametrize("name", MORE)
@MEASURED
def test_the_exploration(benchmark: Callable[..., object], name: str) -> None:
    chart = parse_chart(grid(REGIONS, STATES, MORE[name]))
    bounds = Bounds(budgets=(Budget("has_more"),)) if MORE[name] else Bounds()

    def run() -> float:
        begin = time.process_time()
        assert len(explore(ControlSystem(chart, bounds))) == COUNT
        return time.process_time() - begin

    benchmark(run)
    assert COUNT / min(run() for _ in range(3)) > LEAST[name]


@MEASURED
def test_the_exploration_with_all_properties(benchmark: Callable[..., object]) -> None:
    chart = parse_chart(grid(REGIONS, STATES))
    benchmark(lambda: check_properties(explore(ControlSystem(chart))))


@MEASURED
def test_the_exploration_region_by_region_with_all_properties(benchmark: Callable[..., object]) -> None:
    chart = parse_chart(grid(REGIONS, STATES))

    def run() -> None:
        found = explore_split(ControlSystem(chart))
        assert isinstance(found, SplitExploration)
        assert (len(found), found.count) == (REGIONS * STATES, COUNT)
        check_all(found)

    benchmark(run)


@MEASURED
def test_the_exploration_of_minicheck(benchmark: Callable[..., object]) -> None:
    """Its model is a function of Python, written for these regions; it checks one invariant, and no other property."""
    minicheck = pytest.importorskip("minicheck")

    def transitions(state: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
        return [
            (f"E{region}", (*state[:region], (place + 1) % STATES, *state[region + 1 :]))
            for region, place in enumerate(state)
        ]

    model = minicheck.Protocol(
        name="grid",
        candidate=False,
        fields=tuple(f"r{region}" for region in range(REGIONS)),
        initial=(0,) * REGIONS,
        transitions=transitions,
        invariants={"known": lambda values: max(values.values()) < STATES},
    )

    def run() -> None:
        found = minicheck.check_safety(model)
        assert found["reachable_states"] == COUNT
        assert found["properties"]["known"]["holds"]

    benchmark(run)


@MEASURED
def test_the_exploration_of_xstate(benchmark: Callable[..., object]) -> None:
    try:
        folder = installed_xstate()
    except NoXState as error:
        pytest.skip(str(error))
    driver = Path(shutil.copy(Path(__file__).parent / "contenders" / "adjacency.mjs", folder))
    regions = {
        f"r{region}": {
            "initial": "s0",
            "states": {f"s{place}": {"on": {f"E{region}": f"s{(place + 1) % STATES}"}} for place in range(STATES)},
        }
        for region in range(REGIONS)
    }
    request = {"machine": {"type": "parallel", "states": regions}, "events": [f"E{n}" for n in range(REGIONS)]}

    def run() -> None:
        command = ["node", str(driver)]
        done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["states"] == COUNT

    benchmark.pedantic(run, rounds=1)  # type: ignore[attr-defined]
