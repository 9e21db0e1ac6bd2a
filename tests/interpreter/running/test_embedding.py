"""Embedding: one chart in many threads and loops, copies and pickles refused, nothing of asyncio for who needs none."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from rawko.chart import parse_chart
from rawko.chart.definition import Chart
from rawko.interpreter import Bindings, Interpreter, SnapshotError, append

THREADS = 8

SHARED = """
statechart:
  name: shared
  root state:
    name: root
    parallel states:
    - name: left
      initial: l1
      transitions: [{event: RESET, target: left}]
      states:
      - {name: l1, transitions: [{event: A, target: l2, action: note(what='l1')}]}
      - name: l2
        initial: l21
        states:
        - {name: l21, transitions: [{event: B, guard: odd, target: l22}, {event: B, target: l23}]}
        - {name: l22, transitions: [{event: A, target: l23}]}
        - {name: l23, transitions: [{event: C, target: l21, action: note(what='l23')}]}
        - {name: l2h, type: shallow history, memory: l21}
        transitions: [{event: OUT, target: l3}]
      - {name: l3, transitions: [{event: OUT, target: l2h}, {event: A, target: l1}]}
    - name: right
      initial: r1
      states:
      - name: r1
        on entry: note(what='r1')
        transitions: [{event: A, target: r2}, {event: D, guard: in_state('l22'), target: r3}]
      - name: r2
        initial: r21
        states:
        - {name: r21, transitions: [{event: C, target: r22}]}
        - {name: r22, on exit: note(what='r22'), transitions: [{event: C, target: r21}]}
        - {name: r2h, type: deep history, memory: r21}
        transitions: [{event: B, target: r1}, {event: OUT, target: r3}]
      - {name: r3, transitions: [{event: D, target: r2h}, {guard: odd, target: r1}]}
    - name: middle
      initial: m0
      states:
      - {name: m0, transitions: [{event: A, target: m1}, {event: B, target: m2}]}
      - {name: m1, transitions: [{event: C, target: m2}, {event: D, target: m3}]}
      - {name: m2, transitions: [{event: A, target: m3}, {event: OUT, target: m0}]}
      - {name: m3, transitions: [{event: '*', target: m0, action: note(what='m3')}]}
"""
EVENTS = ("A", "B", "C", "D", "OUT", "RESET", "NOBODY")


def bindings() -> Bindings:
    found = Bindings()
    found.add("guard", "odd", lambda context, event: len(context["log"]) % 2 == 1)
    found.add("action", "note", lambda context, event, what: append("log", f"{what} {event.name}"))
    return found


def life(
    chart: Chart, bound: Bindings, seed: int, *, max_nodes: int, events: int = 40, pace: Callable[[], Any] = int
) -> list[str]:
    """Everything that can be seen of one machine: receipts, what was left and entered, and the whole state.

    Args:
        pace: Called before each event.
    """
    machine = Interpreter(chart, bound, input={"log": []})
    machine._machine.program.max_nodes = max_nodes
    random = Random(seed)
    seen: list[str] = []
    for _ in range(events):
        event = random.choice(EVENTS)
        pace()
        step = machine.send(event)
        seen.append(f"{step.receipt} {step.exited_states} {step.entered_states} {machine.configuration}")
    seen.append(json.dumps(machine.snapshot()))
    return seen


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """Results of the work in all threads, which begin together."""
    barrier = threading.Barrier(THREADS)

    def begin(number: int) -> Any:
        barrier.wait(180)
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result(60) for future in [pool.submit(begin, number) for number in range(THREADS)]]


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("max_nodes", [4096, 3], ids=["tables kept", "tables dropped all the time"])
def test_machines_in_many_threads_share_a_chart(max_nodes: int) -> None:
    for seed in range(12):  # each time with tables that nobody has built yet
        alone = life(parse_chart(SHARED), bindings(), seed, max_nodes=max_nodes)
        chart, bound, step = parse_chart(SHARED), bindings(), threading.Barrier(THREADS)

        def live(
            _: int, chart: Chart = chart, bound: Bindings = bound, seed: int = seed, step: threading.Barrier = step
        ) -> list[str]:
            # In step with each other: what one thread builds, all others want at the same moment.
            return life(chart, bound, seed, max_nodes=max_nodes, pace=lambda: step.wait(180))

        assert at_once(live) == [alone] * THREADS


@pytest.mark.usefixtures("restless")
def test_machines_with_lives_of_their_own_share_a_chart() -> None:
    alone = [life(parse_chart(SHARED), bindings(), seed, max_nodes=5) for seed in range(THREADS)]
    assert len({json.dumps(trace) for trace in alone}) == THREADS
    chart, bound = parse_chart(SHARED), bindings()
    assert at_once(lambda seed: life(chart, bound, seed, max_nodes=5)) == alone


@pytest.mark.usefixtures("restless")
def test_what_a_chart_builds_when_first_asked_is_whole_in_every_thread() -> None:
    for _ in range(6):
        chart, bound = parse_chart(SHARED), bindings()

        def ask(number: int, chart: Chart = chart, bound: Bindings = bound) -> Any:
            machine = Interpreter(chart, bound, input={"log": []})
            machine.start()
            step = machine.send("A")
            sent = [f"{t.source} {t.target} {t.event}" for m in step.steps for t in m.transitions]
            lowered = sorted(machine.statechart.states)
            return sent, lowered, dict(chart.depths), machine.can("C"), [str(r) for r in machine.why_not("D")]

        answers = at_once(ask)
        assert all(answer == answers[0] for answer in answers)
        sent, lowered, depths, _, _ = answers[0]
        assert sent == ["l1 l2 A", "r1 r2 A", "m0 m1 A"]
        assert len(depths) == len(lowered) == len(chart.states)


def test_machines_handed_from_thread_to_thread() -> None:
    machine = Interpreter(parse_chart(SHARED), bindings(), input={"log": []})
    here = life(parse_chart(SHARED), bindings(), 5, max_nodes=4096, events=20)
    random = Random(5)
    for _ in range(20):
        thread = threading.Thread(target=machine.send, args=(random.choice(EVENTS),))
        thread.start()
        thread.join(180)
    assert json.dumps(machine.snapshot()) == here[-1]


def test_one_chart_in_many_loops_at_once() -> None:
    chart, bound = parse_chart(SHARED), bindings()
    alone = [life(chart, bound, seed, max_nodes=4096, events=20) for seed in range(THREADS)]

    async def lives(number: int) -> list[str]:
        await asyncio.sleep(0)
        return life(chart, bound, number, max_nodes=4096, events=20)

    def live(number: int) -> list[str]:
        return asyncio.run(lives(number))

    assert at_once(live) == alone


# ---------------------------------------------------------------- copies


def sender() -> Interpreter:
    machine = Interpreter(parse_chart(SHARED), bindings(), input={"log": []})
    machine.send("A")
    return machine


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
@pytest.mark.parametrize("is_trusted", [False, True], ids=["functions", "trusted code"])
def test_a_copy_is_refused_with_the_way_to_make_one(way: Callable[[Any], Any], is_trusted: bool) -> None:
    machine = Interpreter.trusting(load_plain()) if is_trusted else sender()
    before = machine.snapshot()
    with pytest.raises(SnapshotError, match=r"take snapshot\(\) and restore\(\) it into a new one"):
        way(machine)
    assert machine.snapshot() == before


def load_plain() -> Chart:
    return parse_chart("statechart: {name: s, preamble: n = 1, root state: {name: r}}", trusted=True)


def test_a_snapshot_is_the_copy() -> None:
    machine = sender()
    twin = Interpreter(machine.chart, machine.bindings)
    twin.restore(pickle.loads(pickle.dumps(machine.snapshot())))
    for event in EVENTS:
        assert twin.send(event).configuration == machine.send(event).configuration
    assert twin.snapshot() == machine.snapshot()


@pytest.mark.parametrize("way", [lambda c: pickle.loads(pickle.dumps(c)), copy.copy, copy.deepcopy])
def test_charts_can_be_copied_and_sent(way: Callable[[Chart], Chart]) -> None:
    chart = parse_chart(SHARED)
    again = way(chart)
    assert again.hash == chart.hash and list(again.states) == list(chart.states)
    assert life(again, bindings(), 1, max_nodes=4096) == life(chart, bindings(), 1, max_nodes=4096)


def test_an_empty_configuration_from_outside_ends_the_machine() -> None:
    machine: Any = sender()
    machine._configuration = set()  # sismic's `run_in_background` stops a machine so
    assert machine.final and machine.execute() == []
    assert machine.send("A").receipt.value == "machine is done"


# ---------------------------------------------------------------- nothing that is not needed


def test_using_it_in_plain_code_loads_no_asyncio() -> None:
    code = """
import sys
from rawko import Bindings, Interpreter, assign, parse_chart
go = "{event: E, action: [{assign: {n: 1}}]}"
chart = parse_chart("statechart: {name: s, root state: {name: r, transitions: [%s]}}" % go)
machine = Interpreter(chart, Bindings(), input={"n": 0})
machine.send("E")
machine.snapshot()
assert machine.context.n == 1
heavy = ("asyncio", "pydantic", "anthropic", "sqlalchemy", "jsonschema", "jinja2", "rawko.runtime")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
