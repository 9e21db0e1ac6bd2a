"""What an attempt costs beside the node's own work, by driver and by part: `make bench`. Divide by the attempts.

Loop and machine are compared alike: nothing kept on disk, or everything. Both come to the same, also at length.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rawko.chart import find_chart, load_chart
from rawko.interpreter.running.interpreter import Interpreter
from rawko.journal import SqlJournal
from rawko.machines.node_engine import (
    Budgets,
    EngineResult,
    NodeCall,
    NodeEngineContext,
    NodeOutcome,
    NodePolicy,
    NodeRegistry,
    Policies,
    RetryPolicy,
    RunReport,
    RunState,
    bindings,
    failed,
    succeeded,
)
from rawko.machines.node_engine.drivers.choice import DRIVERS, DriverName, make_driver
from rawko.machines.node_engine.drivers.plain_loop import AgentRunner
from rawko.machines.node_engine.drivers.setup import RunSetup, set_up
from rawko.machines.node_engine.drivers.statechart import StatechartDriver
from rawko.machines.node_engine.ports import Callbacks, NoCallbacks
from rawko.runtime.journal import StepRecord
from tests.formats.xstate_node import NoXState, installed_xstate

Ask = Callable[[Mapping[str, Any]], Any]

ATTEMPTS = 500
LONG = 10_000
CHART = load_chart(find_chart("node_engine"))
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def xstate() -> Iterator[Ask]:
    """The same walk as a machine of XState's, in a node process that answers requests."""
    try:
        folder = installed_xstate()
    except NoXState as error:
        pytest.skip(str(error))
    driver = folder / "node_engine.mjs"
    driver.write_bytes((Path(__file__).parent / "contenders" / "node_engine.mjs").read_bytes())
    with subprocess.Popen(["node", str(driver)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        requests, answers = process.stdin, process.stdout
        assert requests is not None and answers is not None

        def ask(request: Mapping[str, Any]) -> Any:
            requests.write(json.dumps(request) + "\n")
            requests.flush()
            return json.loads(answers.readline())

        yield ask
        requests.close()


def quiet(level: str, message: str, fields: Mapping[str, Any]) -> None:
    pass


def walk_of(attempts: int, callbacks: Callbacks | None = None) -> RunSetup:
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
    return set_up(nodes, context, callbacks=callbacks, log=quiet)


class Told:
    """Callbacks that do nothing, and are called."""

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        pass

    async def on_attempt(self, result: EngineResult) -> None:
        pass


def drive(driver: DriverName, attempts: int, callbacks: Callbacks | None = None) -> RunReport:
    return asyncio.run(make_driver(walk_of(attempts, callbacks), driver).run())


class Kept(NoCallbacks):
    """What the plain loop keeps of an attempt, as durably as the machine does: one row each, in the same journal."""

    def __init__(self, journal: SqlJournal) -> None:
        self._journal = journal
        self._epoch = 0

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        if not self._epoch:
            self._epoch = await self._journal.begin("r")
        kept = {"name": "PERSISTED", "data": {"state": state.to_json(), "events": list(events)}}
        await self._journal.append(
            StepRecord(
                run="r",
                seq=state.step_ordinal,
                epoch=self._epoch,
                actor="runner",
                time=0.0,
                event=kept,
                receipt=None,
                updates=(),
                effects=(),
                configuration=(),
            )
        )


def drive_durably(driver: DriverName, attempts: int, folder: Path) -> RunReport:
    """The same walk, every attempt of it on disk: the loop's after it was made, the machine's step by step."""

    async def run() -> RunReport:
        journal = SqlJournal(folder / f"{driver}-{next(_NUMBERS)}.db")
        try:
            if driver == "runner":
                return await AgentRunner(walk_of(attempts, Kept(journal))).run()
            return await StatechartDriver(walk_of(attempts), journal=journal).run()
        finally:
            await journal.aclose()

    return asyncio.run(run())


def machine_alone(attempts: int, callbacks: Callbacks | None = None) -> int:
    """The interpreter's share: the same steps, with nothing around them: no loop, no task, no row, no node."""
    context = walk_of(attempts, callbacks).input
    machine = Interpreter(CHART, bindings, input=context.to_json())
    machine.start()
    machine.send("START")
    verdict = {"stop": False, "reason": None}
    told = (("persist", None), ("report_attempt", None)) if callbacks else ()
    for number in range(attempts):
        result = succeeded_result("b" if number % 2 else "a", number)
        for id, output in (("check_stop", verdict), ("run_once", result), *told):
            machine.complete_invocation(id, machine.invocations[id].number, output)
            machine.execute_once()
    return int(machine.context.step_ordinal)


def succeeded_result(next_node: str, number: int) -> dict[str, Any]:
    return EngineResult(outcome="SUCCESS", next_node=next_node, data={"last": number}).to_json()


@pytest.mark.benchmark(group=f"{ATTEMPTS} attempts, nothing kept on disk")
@pytest.mark.parametrize("driver", DRIVERS)
def test_attempts(benchmark: Any, driver: DriverName) -> None:
    report = benchmark.pedantic(drive, (driver, ATTEMPTS), rounds=5, warmup_rounds=1)
    assert report.state.step_ordinal == ATTEMPTS


@pytest.mark.benchmark(group=f"{ATTEMPTS} attempts, nothing kept on disk")
def test_xstate_attempts(benchmark: Any, xstate: Ask) -> None:
    answer = benchmark.pedantic(xstate, ({"attempts": ATTEMPTS, "told": False},), rounds=5, warmup_rounds=10)
    assert answer == {"value": "finished", "attempts": ATTEMPTS}


@pytest.mark.benchmark(group=f"{ATTEMPTS} attempts, nothing kept on disk")
def test_the_machines_steps_alone(benchmark: Any) -> None:
    assert benchmark.pedantic(machine_alone, (ATTEMPTS,), rounds=5, warmup_rounds=1) == ATTEMPTS


@pytest.mark.benchmark(group=f"{ATTEMPTS} attempts, nothing kept on disk, both callbacks called")
@pytest.mark.parametrize("driver", DRIVERS)
def test_told_attempts(benchmark: Any, driver: DriverName) -> None:
    report = benchmark.pedantic(drive, (driver, ATTEMPTS, Told()), rounds=5, warmup_rounds=1)
    assert report.state.step_ordinal == ATTEMPTS


@pytest.mark.benchmark(group=f"{ATTEMPTS} attempts, nothing kept on disk, both callbacks called")
def test_xstate_told_attempts(benchmark: Any, xstate: Ask) -> None:
    answer = benchmark.pedantic(xstate, ({"attempts": ATTEMPTS, "told": True},), rounds=5, warmup_rounds=10)
    assert answer == {"value": "finished", "attempts": ATTEMPTS}


@pytest.mark.benchmark(group=f"{ATTEMPTS} attempts, each on disk")
@pytest.mark.parametrize("driver", DRIVERS)
def test_durable_attempts(benchmark: Any, driver: DriverName, tmp_path: Path) -> None:
    report = benchmark.pedantic(drive_durably, (driver, ATTEMPTS, tmp_path), rounds=3, warmup_rounds=1)
    assert report.state.step_ordinal == ATTEMPTS


@pytest.mark.benchmark(group=f"{LONG} attempts")
def test_both_come_to_the_same_at_length(benchmark: Any) -> None:
    chart = benchmark.pedantic(drive, ("statechart", LONG), rounds=1)
    loop = drive("runner", LONG)
    when = {"started_at_ms": None}
    assert chart.state.model_copy(update=when) == loop.state.model_copy(update=when)
    assert chart.outcome == loop.outcome == "finished"
