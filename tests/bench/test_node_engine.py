"""What an attempt costs beside the node's own work, by driver: `make bench`. Both come to the same, also at length."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from rawko.machines.node_engine import (
    Budgets,
    NodeCall,
    NodeEngineContext,
    NodeOutcome,
    NodePolicy,
    NodeRegistry,
    Policies,
    RetryPolicy,
    RunReport,
    failed,
    succeeded,
)
from rawko.machines.node_engine.drivers import DRIVERS, DriverName, make_driver
from rawko.machines.node_engine.setup import set_up

ATTEMPTS = 500
LONG = 10_000


def quiet(level: str, message: str, fields: Mapping[str, Any]) -> None:
    pass


def drive(driver: DriverName, attempts: int) -> RunReport:
    """A walk of so many attempts, of which one in ten fails and is made again at once."""
    nodes = NodeRegistry()

    async def handler(call: NodeCall) -> NodeOutcome:
        if call.state.step_ordinal == attempts:
            return succeeded()
        if call.chance() < 0.1:
            return failed("flaky")
        return succeeded("b" if call.node == "a" else "a", data={"last": call.state.step_ordinal})

    nodes.node("a")(handler)
    nodes.node("b")(handler)
    policies = Policies(default=NodePolicy(retry=RetryPolicy(max_retries=100, base_ms=0, cap_ms=0)))
    context = NodeEngineContext(node_name="a", seed=7, policies=policies, budgets=Budgets(attempts=None))
    return asyncio.run(make_driver(set_up(nodes, context, log=quiet), driver).run())


@pytest.mark.benchmark(group=f"{ATTEMPTS} attempts")
@pytest.mark.parametrize("driver", DRIVERS)
def test_attempts(benchmark: Any, driver: DriverName) -> None:
    report = benchmark.pedantic(drive, (driver, ATTEMPTS), rounds=3, warmup_rounds=1)
    assert report.state.step_ordinal == ATTEMPTS


@pytest.mark.benchmark(group=f"{LONG} attempts")
def test_both_come_to_the_same_at_length(benchmark: Any) -> None:
    chart = benchmark.pedantic(drive, ("statechart", LONG), rounds=1)
    loop = drive("runner", LONG)
    when = {"started_at_ms": None}
    assert chart.state.model_copy(update=when) == loop.state.model_copy(update=when)
    assert chart.outcome == loop.outcome == "finished"
