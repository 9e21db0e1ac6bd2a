"""Both drivers in real time: the flag, bounds, stopping, and going on after a crash."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from rawko.chart import find_chart, load_chart
from rawko.interpreter import Interpreter, thaw
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
    RunState,
    StopCheck,
    bindings,
    failed,
    succeeded,
)
from rawko.machines.node_engine.context import context_from
from rawko.machines.node_engine.drivers.choice import DRIVERS, DriverName, driver_name, make_driver
from rawko.machines.node_engine.drivers.plain_loop import AgentRunner
from rawko.machines.node_engine.drivers.setup import RunSetup, set_up
from rawko.machines.node_engine.drivers.statechart import StatechartDriver
from rawko.machines.node_engine.errors import UnknownDriver
from rawko.runtime import MemoryJournal
from rawko.runtime.replay.replay import ReplayError


class Keeper:
    """Callbacks that remember."""

    def __init__(self) -> None:
        self.states: list[RunState] = []
        self.events: list[Mapping[str, Any]] = []
        self.results: list[EngineResult] = []

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        self.states.append(state)
        self.events += events

    async def on_attempt(self, result: EngineResult) -> None:
        self.results.append(result)


class Hanging(Keeper):
    """Callbacks of which one never returns."""

    def __init__(self, which: str) -> None:
        super().__init__()
        self._which = which

    async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
        await super().on_persist(state, events, node_name)
        if self._which == "on_persist":
            await asyncio.sleep(3600)

    async def on_attempt(self, result: EngineResult) -> None:
        if self._which == "on_attempt":
            await asyncio.sleep(3600)


def quiet(level: str, message: str, fields: Mapping[str, Any]) -> None:
    pass


def nodes_of(**handlers: Callable[[NodeCall], Any]) -> NodeRegistry:
    nodes = NodeRegistry()
    for name, handler in handlers.items():
        nodes.node(name)(handler)
    return nodes


def run_of(nodes: NodeRegistry, *, callbacks: Keeper | None = None, **fields: Any) -> RunSetup:
    should_stop = fields.pop("should_stop", None)
    observe = fields.pop("observe", None)
    context = NodeEngineContext.model_validate({"seed": 7, "node_name": "a", **fields})
    more = {} if should_stop is None else {"should_stop": should_stop}
    return set_up(nodes, context, callbacks=callbacks or Keeper(), observe=observe, log=quiet, **more)


async def good(call: NodeCall) -> NodeOutcome:
    return succeeded()


each_driver = pytest.mark.parametrize("driver", DRIVERS)

# ---------------------------------------------------------------- the flag


def test_the_flag_chooses_the_driver_and_the_machine_is_the_default() -> None:
    assert driver_name({}) == driver_name({"AGENT_DRIVER": ""}) == "statechart"
    assert driver_name({"AGENT_DRIVER": "runner"}) == "runner"
    setup = run_of(nodes_of(a=good))
    assert isinstance(make_driver(setup, driver_name({"AGENT_DRIVER": "runner"})), AgentRunner)
    assert isinstance(make_driver(setup, driver_name({})), StatechartDriver)


def test_an_unknown_driver_is_refused() -> None:
    with pytest.raises(UnknownDriver) as caught:
        driver_name({"AGENT_DRIVER": "statecharts"})
    assert str(caught.value) == (
        "AGENT_DRIVER is 'statecharts'; did you mean 'statechart'? accepted: 'statechart', 'runner'"
    )


def test_the_flag_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_DRIVER", "runner")
    assert isinstance(make_driver(run_of(nodes_of(a=good))), AgentRunner)


# ---------------------------------------------------------------- bounds


@each_driver
async def test_an_attempt_that_never_ends_is_stopped_and_kept(driver: DriverName) -> None:
    ended: list[str] = []

    class Endless:
        async def run_once(self, *_: object) -> EngineResult:
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append("stopped")
            return EngineResult()

    keeper = Keeper()
    setup = run_of(nodes_of(a=good), callbacks=keeper, attempt_timeout_ms=30)
    ports = setup.ports.__class__(Endless(), callbacks=keeper)
    report = await make_driver(RunSetup(setup.context, ports, log=quiet), driver).run()
    assert ended == ["stopped"]
    assert (report.outcome, report.reason) == ("failed", "engine_error")
    assert report.error is not None
    assert (report.error.category, report.error.message) == ("timeout", "run_once did not end in time")
    assert [event["type"] for event in keeper.events] == ["ATTEMPT_INTERRUPTED"]
    assert keeper.results == []


@each_driver
@pytest.mark.parametrize(
    ("which", "reason"), [("on_persist", "persist_failed"), ("on_attempt", "report_failed"), ("", "check_failed")]
)
async def test_a_callback_that_never_returns_ends_the_run(driver: DriverName, which: str, reason: str) -> None:
    async def hangs() -> StopCheck:
        await asyncio.sleep(3600)
        return StopCheck()

    more = {} if which else {"should_stop": hangs}
    setup = run_of(nodes_of(a=good), callbacks=Hanging(which), call_timeout_ms=150, **more)
    report = await make_driver(setup, driver).run()
    assert (report.outcome, report.reason) == ("failed", reason)
    assert report.error is not None
    assert (report.error.category, report.error.message) == (
        "timeout",
        f"{which or 'should_stop'} did not end in time",
    )


@each_driver
async def test_time_runs_out_in_the_middle_of_an_attempt(driver: DriverName) -> None:
    async def slow(call: NodeCall) -> NodeOutcome:
        await asyncio.sleep(3600)
        return succeeded()

    keeper = Keeper()
    setup = run_of(nodes_of(a=slow), callbacks=keeper, budgets=Budgets(wall_ms=200))
    report = await make_driver(setup, driver).run()
    assert (report.outcome, report.reason, report.error) == ("stopped", "wall_time", None)
    assert keeper.events[0]["reason"] == "wall_time"


@each_driver
async def test_a_wait_is_waited(driver: DriverName) -> None:
    times: list[float] = []

    async def flaky(call: NodeCall) -> NodeOutcome:
        times.append(asyncio.get_running_loop().time())
        return succeeded() if len(times) > 2 else failed("not yet")

    policies = Policies(default=NodePolicy(retry=RetryPolicy(base_ms=60, cap_ms=60)))
    report = await make_driver(run_of(nodes_of(a=flaky), policies=policies, check_every_ms=10), driver).run()
    assert report.outcome == "finished"
    assert [later - earlier >= 0.028 for earlier, later in itertools.pairwise(times)] == [True, True]


# ---------------------------------------------------------------- stopping


@each_driver
async def test_a_stopped_attempt_has_ended_before_that_is_kept(driver: DriverName) -> None:
    order: list[str] = []
    begun = asyncio.Event()

    async def slow(call: NodeCall) -> NodeOutcome:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            order.append("ended")
        return succeeded()

    class Ordered(Keeper):
        async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
            order.append("kept")

    drive = make_driver(run_of(nodes_of(a=slow), callbacks=Ordered()), driver)
    running = asyncio.create_task(drive.run())
    await begun.wait()
    drive.stop("enough")
    drive.stop("more than enough")
    report = await running
    assert (report.outcome, report.reason) == ("stopped", "enough")
    assert order == ["ended", "kept"]


@each_driver
async def test_a_run_that_is_stopped_before_it_begins_does_nothing(driver: DriverName) -> None:
    asked: list[str] = []

    async def should_stop() -> StopCheck:
        asked.append("asked")
        return StopCheck()

    drive = make_driver(run_of(nodes_of(a=good), should_stop=should_stop), driver)
    drive.stop("too late")
    report = await drive.run()
    assert (report.outcome, report.reason, report.state.step_ordinal, asked) == ("stopped", "too late", 0, [])


@each_driver
async def test_cancelling_the_run_from_outside_stops_its_attempt(driver: DriverName) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(call: NodeCall) -> NodeOutcome:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()
        return succeeded()

    running = asyncio.create_task(make_driver(run_of(nodes_of(a=slow)), driver).run())
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


@each_driver
async def test_an_observer_that_fails_does_not_end_the_run(driver: DriverName) -> None:
    def observe(event: str, data: Mapping[str, Any]) -> None:
        raise OSError("nobody is there")

    assert (await make_driver(run_of(nodes_of(a=good), observe=observe), driver).run()).outcome == "finished"


@each_driver
async def test_a_log_that_cannot_be_written_does_not_end_the_run(driver: DriverName) -> None:
    def broken(level: str, message: str, fields: Mapping[str, Any]) -> None:
        raise OSError("disk full")

    setup = run_of(nodes_of(a=good))
    assert (await make_driver(RunSetup(setup.context, setup.ports, log=broken), driver).run()).outcome == "finished"


@each_driver
async def test_what_could_not_be_kept_of_a_stopped_attempt_is_in_the_log(driver: DriverName) -> None:
    lines: list[tuple[str, str]] = []
    begun = asyncio.Event()

    async def slow(call: NodeCall) -> NodeOutcome:
        begun.set()
        await asyncio.sleep(3600)
        return succeeded()

    class Full(Keeper):
        async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
            raise OSError("disk full")

    setup = run_of(nodes_of(a=slow), callbacks=Full())
    log = lambda level, message, fields: lines.append((level, message))  # noqa: E731
    drive = make_driver(RunSetup(setup.context, setup.ports, log=log), driver)
    running = asyncio.create_task(drive.run())
    await begun.wait()
    drive.stop("enough")
    report = await running
    assert (report.outcome, report.reason) == ("stopped", "enough")
    assert [message for level, message in lines if level == "error"] == ["on_persist failed: OSError: disk full"]


@each_driver
async def test_what_nodes_and_callbacks_change_in_place_is_nobodys(driver: DriverName) -> None:
    kept: dict[str, Any] = {"list": [1], "pair": (1, 2)}
    seen: list[Any] = []

    async def meddles(call: NodeCall) -> NodeOutcome:
        seen.append(deepcopy((call.state.data, call.ctx)))
        call.state.data.setdefault("list", []).append(9)
        call.ctx["who"].append("somebody else")
        return succeeded("b" if call.node == "a" else None, data=kept if call.node == "a" else {})

    class Meddling(Keeper):
        async def on_persist(self, state: RunState, events: Sequence[Mapping[str, Any]], node_name: str) -> None:
            kept["list"].append(8)
            state.data["list"].append(7)

    setup = run_of(nodes_of(a=meddles, b=meddles), callbacks=Meddling(), ctx={"who": ["me"]})
    report = await make_driver(setup, driver).run()
    assert report.state.data == {"list": [1], "pair": [1, 2]}
    assert seen == [({}, {"who": ["me"]}), ({"list": [1], "pair": [1, 2]}, {"who": ["me"]})]


async def test_a_machine_is_stopped_whatever_the_reason_is() -> None:
    chart = load_chart(find_chart("node_engine"))
    for reason in (7, {"by": "ann"}, None, ""):
        machine = Interpreter(chart, bindings, input={"seed": 7, "node_name": "a"})
        machine.start()
        machine.send("STOP_REQUESTED", reason=reason)
        assert machine.matches("stopped")


async def test_events_are_kept_for_late_watchers_only_where_the_steps_are_journaled() -> None:
    for journal in (None, MemoryJournal()):
        drive = StatechartDriver(run_of(nodes_of(a=good)), journal=journal)
        stream = drive.begin().session.stream
        assert (await drive.run()).outcome == "finished"
        assert stream.oldest == (1 if journal is not None else stream.latest + 1)


# ---------------------------------------------------------------- going on


def walk() -> NodeRegistry:
    """Five nodes on, one of them flaky by chance alone, so that every run is the same run."""

    async def flaky(call: NodeCall) -> NodeOutcome:
        return failed("flaky") if call.chance() < 0.6 else succeeded("c", data={"b": call.replay_id()})

    async def on(call: NodeCall) -> NodeOutcome:
        return succeeded("b", data={call.node: call.state.step_ordinal}, tokens=2)

    async def end(call: NodeCall) -> NodeOutcome:
        return succeeded(data={"c": call.state.step_ordinal})

    return nodes_of(a=on, b=flaky, c=end)


INSTANT = Policies(default=NodePolicy(retry=RetryPolicy(max_retries=20, base_ms=0, cap_ms=0)))


@each_driver
async def test_a_run_goes_on_from_every_state_that_was_kept(driver: DriverName) -> None:
    keeper = Keeper()
    setup = run_of(walk(), callbacks=keeper, seed=5, policies=INSTANT)
    whole = await make_driver(setup, driver).run()
    assert whole.outcome == "finished"
    assert len(keeper.states) > 3
    for number, state in enumerate(keeper.states):
        rest = Keeper()
        context = context_from(RunState.model_validate_json(state.model_dump_json()), seed=5, policies=INSTANT)
        report = await make_driver(set_up(walk(), context, callbacks=rest, log=quiet), driver).run()
        assert report == whole
        assert rest.states == keeper.states[number + 1 :], "no attempt is made twice, none is left out"
        assert rest.results == keeper.results[number:], "the last one is told of again, or for the first time"


def result(**fields: Any) -> dict[str, Any]:
    return EngineResult(**fields).to_json()


GO_ON = {"stop": False, "reason": None}
SCRIPT: list[tuple[str, Any]] = [
    ("START", None),
    ("check_stop", GO_ON),
    ("run_once", result(outcome="FAILURE", next_node="a", retry_delay_ms=2_500)),
    ("persist", None),
    ("report_attempt", None),
    ("wait", 1.0),
    ("watch_stop", GO_ON),
    ("wait", 1.6),
    ("watch_stop", GO_ON),
    ("wait", 0.0),
    ("wait", 0.6),
    ("check_stop", GO_ON),
    ("run_once", result(outcome="SUCCESS", next_node="b", data={"x": 1})),
    ("persist", None),
    ("report_attempt", None),
    ("check_stop", GO_ON),
    ("run_once", result(outcome="SUCCESS")),
    ("persist", None),
    ("report_attempt", None),
]
"""A run: what comes in from the world, one thing after the other."""


def feed(machine: Interpreter, script: Sequence[tuple[str, Any]]) -> Interpreter:
    for name, what in script:
        if name == "START":
            machine.queue("START")
        elif name == "wait":
            machine.advance(what)
        elif name in machine.invocations:
            machine.complete_invocation(name, machine.invocations[name].number, what)
        while machine.execute_once() is not None:
            pass
    return machine


def test_a_machine_restored_at_any_point_goes_on_alike_waits_included() -> None:
    chart = load_chart(find_chart("node_engine"))
    given = {"seed": 7, "node_name": "a"}
    seen = set()

    def begun() -> Interpreter:
        machine = Interpreter(chart, bindings, input=given)
        machine.start()
        return machine

    whole = feed(begun(), SCRIPT)
    assert whole.final
    for cut in range(len(SCRIPT)):
        first = feed(begun(), SCRIPT[:cut])
        seen |= set(first.configuration)
        second = Interpreter(chart, bindings, input=given, clock=first.clock)
        second.restore(json.loads(json.dumps(first.snapshot())))
        assert thaw(feed(second, SCRIPT[cut:]).output) == thaw(whole.output)
    assert {"idle", "checking", "executing", "persisting", "reporting", "resting", "watching"} <= seen


async def test_a_run_goes_on_wherever_its_journal_ends() -> None:
    journal = MemoryJournal()
    setup = run_of(walk(), seed=5, policies=INSTANT)
    whole = await StatechartDriver(setup, journal=journal).run()
    rows = await journal.rows("run")
    seen = {state for row in rows for state in row.configuration}
    assert {"idle", "checking", "executing", "persisting", "reporting", "waiting_retry", "finished"} <= seen
    for end in range(len(rows) + 1):
        cut = MemoryJournal()
        epoch = await cut.begin("run")
        for row in rows[:end]:
            await cut.append(replace(row, epoch=epoch))
        setup = run_of(walk(), seed=5, policies=INSTANT)
        report = await (await StatechartDriver.resumed(setup, cut)).run()
        when = {"started_at_ms": None}
        assert report.state.model_copy(update=when) == whole.state.model_copy(update=when)
        assert report.outcome == "finished"


async def test_a_run_is_not_resumed_with_another_setup() -> None:
    journal = MemoryJournal()
    await StatechartDriver(run_of(walk(), seed=5, policies=INSTANT), journal=journal).run()
    with pytest.raises(ReplayError, match="run 'run'"):
        await StatechartDriver.resumed(run_of(walk(), node_name="c"), journal)


async def test_a_run_that_is_stopped_while_it_is_taken_up_stops() -> None:
    journal = MemoryJournal()
    setup = run_of(walk(), seed=5, policies=INSTANT)
    await StatechartDriver(setup, journal=journal).run()
    rows = await journal.rows("run")
    cut = MemoryJournal()
    epoch = await cut.begin("run")
    for row in rows[:4]:
        await cut.append(replace(row, epoch=epoch))
    driver = await StatechartDriver.resumed(setup, cut)
    driver.stop("enough")
    report = await driver.run()
    assert (report.outcome, report.reason) == ("stopped", "enough")
