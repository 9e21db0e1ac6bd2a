"""The stream in Stately's wire format: read by the real package under node, and beside what real XState sends."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

import rawko.inspect
from rawko import Actor, Bindings, ChildMachine, Interpreter, child_machine, parse_chart
from rawko.chart.definition import Chart
from rawko.inspect.stately import StatelyWire, definition_of, value_of
from rawko.interpreter.clocks import SimulatedClock
from rawko.runtime.session import Session
from tests.formats.xstate_node import ROOT, NoXState, installed_xstate
from tests.inspect.conftest import KID, turnstile

PACKAGE = "@statelyai/inspect@0.7.2"
CACHE = ROOT / ".cache" / "stately"
SHOP = parse_chart("""
statechart:
  name: shop
  root state:
    name: shop
    initial: closed
    states:
      - {name: closed, transitions: [{event: OPEN, target: day}]}
      - name: day
        invoke: {id: receipt, src: print_receipt}
        transitions: [{event: CLOSE, target: over}]
        parallel states:
          - {name: till, initial: idle, states: [{name: idle, transitions: [{event: PAY, target: busy}]}, {name: busy}]}
          - {name: door}
      - {name: over, type: final}
""")
STEPS: list[Any] = [{"type": "OPEN"}, {"type": "PAY", "cents": 5}, 1000, {"type": "UNKNOWN"}, {"type": "CLOSE"}]


def shop(**options: Any) -> Actor:
    bindings = Bindings()
    bindings.add("actor", "print_receipt", child_machine(lambda input: ChildMachine(KID, Bindings(), {})))
    return Actor(SHOP, bindings, input={"n": [1, 2]}, clock=SimulatedClock(), **options)


async def go(actor: Actor) -> None:
    for step in STEPS:
        if isinstance(step, int):
            await actor.advance(step / 1000)
        else:
            actor.send(step["type"], **{name: value for name, value in step.items() if name != "type"})
            await actor.settle()


@pytest.fixture(scope="module")
def peer() -> Iterator[list[str]]:
    """The command that runs the real package."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    try:
        installed = installed_xstate(PACKAGE, cache=CACHE, holds="@statelyai/inspect")
    except NoXState as reason:
        pytest.skip(str(reason))
    script = shutil.copy(Path(__file__).with_name("stately_peer.mjs"), installed)
    yield [node, str(script)]


def stories(messages: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """What is told of each actor, in its order: sessions have other names, and actors other turns, in XState."""
    names = {one["sessionId"]: one["name"] for one in messages if one["type"] == "@xstate.actor"}
    found: dict[str, list[Any]] = {}
    for one in messages:
        snapshot = one.get("snapshot", {})
        event = {name: value for name, value in one.get("event", {}).items() if value is not None}
        told = [one["type"], event, names.get(one.get("sourceId", "")), snapshot.get("value"), snapshot.get("status")]
        told += [snapshot.get("output"), names[one["rootId"]], names.get(one.get("parentId", "")), one["_version"]]
        found.setdefault(names[one["sessionId"]], []).append(told)
    return found


@pytest.mark.slow
async def test_the_real_package_reads_the_stream_and_it_tells_what_xstate_tells(peer: list[str]) -> None:
    with rawko.inspect.serve(actor := shop()) as inspector:
        receiver = await asyncio.create_subprocess_exec(
            *peer, "receive", inspector.stately, stdout=asyncio.subprocess.PIPE, limit=2**20
        )
        async with actor:
            await go(actor)
            told, _ = await receiver.communicate()
    ours = [json.loads(line) for line in told.splitlines()]
    machines = {"root": json.loads(definition_of(SHOP)), "child": json.loads(definition_of(KID)), "steps": STEPS}
    ran = await asyncio.to_thread(
        subprocess.run, [*peer, "oracle"], input=json.dumps(machines), capture_output=True, text=True, check=True
    )
    theirs = [json.loads(line) for line in ran.stdout.splitlines()]
    assert stories(ours) == stories(theirs)
    fields = {one["type"]: set(one) for one in theirs}
    for one in ours:
        assert (
            fields[one["type"]] - {"sourceId", "parentId"} <= set(one) <= fields[one["type"]] | {"sourceId", "parentId"}
        )
    assert ours[-1]["snapshot"]["context"] == {"n": [1, 2]}


@pytest.mark.slow
async def test_a_bridge_to_stately_s_page_gets_the_stream(peer: list[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    bridge = await asyncio.create_subprocess_exec(*peer, "bridge", str(port), stdout=asyncio.subprocess.PIPE)
    assert bridge.stdout is not None
    assert json.loads(await bridge.stdout.readline()) == "listening"
    with rawko.inspect.serve(actor := shop(), stately=f"ws://localhost:{port}"):
        async with actor:
            await go(actor)
            told = [json.loads(line) async for line in bridge.stdout]
    assert await bridge.wait() == 0
    assert [one["type"] for one in told[:3]] == ["@xstate.actor", "@xstate.event", "@xstate.snapshot"]
    assert told[-1]["snapshot"]["status"] == "done"


# ---------------------------------------------------------------- without node


async def read(socket: ClientConnection, wanted: int) -> list[dict[str, Any]]:
    return [json.loads(await socket.recv()) for _ in range(wanted)]


async def test_who_joins_late_is_told_where_the_actors_stand() -> None:
    async with turnstile(session=Session(kept=0)) as actor:
        await actor.request("COIN", cents=60)
        await actor.settle()
        with rawko.inspect.serve(actor) as inspector:
            async with connect(inspector.stately, proxy=None) as socket:
                (opened,) = await read(socket, 1)
                assert (opened["name"], opened["snapshot"]["value"]) == ("turnstile", "open")
                assert "parentId" not in opened
                assert opened["snapshot"]["context"] == {"visitors": 1, "price": 50}
                await actor.request("PUSH")
                event, snapshot = (await read(socket, 2))[:2]
                assert event["event"] == {"type": "PUSH"}
                assert snapshot["snapshot"]["value"] == "locked"


async def test_a_slow_reader_is_told_anew_and_nothing_piles_up() -> None:
    machine = Interpreter(COUNTER, Bindings(), input={"items": []})
    with rawko.inspect.serve(machine, kept=50) as inspector:
        wire = StatelyWire(inspector._sources[0].recording)
        machine.start()
        assert list(wire.join(10)) == []
        assert next(wire.news(1))["type"] == "@xstate.actor"
        for n in range(200):
            machine.send("GO", n=n)
        assert wire.is_behind
        again = list(wire.join(10))
        assert [one["type"] for one in again] == ["@xstate.actor"], "how it stood ten rows ago is not kept"
        machine.send("GO", n=200)
        assert [one["event"] for one in wire.news(1_000) if one["type"] == "@xstate.event"] == [
            {"type": "GO", "n": 200}
        ]


COUNTER = parse_chart("""
statechart:
  name: counter
  root state: {name: counter, transitions: [{event: GO}]}
""")


async def test_a_stream_is_for_those_with_the_secret_alone() -> None:
    with rawko.inspect.serve() as inspector:
        for address, origin in [
            (inspector.stately.partition("?")[0], None),
            (inspector.stately[:-1], None),
            (inspector.stately, "http://evil.example"),
        ]:
            with pytest.raises(InvalidStatus) as refused:
                await connect(address, origin=origin, proxy=None)  # type: ignore[arg-type]  # a text will do
            assert refused.value.response.status_code == 403
        with pytest.raises(ValueError, match="begins with ws://"):
            rawko.inspect.serve(stately="localhost:8080")


@pytest.mark.parametrize(
    ("chart", "configuration", "value"),
    [
        (SHOP, ("shop", "closed"), "closed"),
        (SHOP, ("shop", "day", "till", "door", "idle"), {"day": {"till": "idle", "door": {}}}),
        (COUNTER, ("counter",), {}),
    ],
)
def test_configurations_are_nested_as_xstate_nests_them(
    chart: Chart, configuration: tuple[str, ...], value: Any
) -> None:
    assert value_of(chart, configuration) == value


async def test_crashes_and_stops_are_told() -> None:
    async with shop() as actor:
        with rawko.inspect.serve(actor) as inspector:
            await actor.settle()
            await actor.request("OPEN")
            await actor.settle()
            await actor.stop()
            wire = StatelyWire(inspector._sources[0].recording)
            told = [*wire.join(0), *wire.join(1_000), *wire.news(1_000)]
            ends = [(one["sessionId"], one["snapshot"]["status"]) for one in told if one["type"] == "@xstate.snapshot"][
                -2:
            ]
            assert ends == [("a1/root/receipt", "stopped"), ("a1/root", "stopped")]
