"""A session whose monitors refuse, report or stop: what the actor takes, what its senders hear, what is remembered."""

from __future__ import annotations

from typing import Any

import pytest
from sismic.model import MetaEvent

from rawko.chart import parse_chart
from rawko.interpreter.data.events import Event, make_event
from rawko.interpreter.monitoring.monitor import ANY_MACHINE, MONITOR_GUARDS, Monitor
from rawko.interpreter.monitoring.watcher import Watcher
from rawko.runtime.actor import Actor
from rawko.runtime.errors import ActorCrashed
from rawko.runtime.session import Session
from tests.interpreter.tables import chart_of

DOOR = chart_of(
    """
    name: door
    initial: shut
    states:
      - {name: shut, transitions: [{event: OPEN, target: wide}, {event: KNOCK, target: heard}]}
      - {name: heard, transitions: [{event: OPEN, target: wide}]}
      - {name: wide, transitions: [{event: CLOSE, target: shut}]}
    """
)
KNOCKED = parse_chart(
    """
statechart:
  name: knocked
  root state:
    name: knocked
    initial: silent
    states:
      - name: silent
        transitions:
          - {event: state entered, guard: is_state(name='heard'), target: known}
          - {event: state entered, guard: is_state(name='wide'), target: burst_in}
      - name: known
      - {name: burst_in, type: final, description: Nobody has knocked}
"""
)


def knock(event: Event, monitor: str, reason: str) -> Event | None:
    return make_event("KNOCK", {"because": f"{monitor}: {reason}"}) if event.name == "OPEN" else None


def monitor(violation: Any, remedy: Any = None) -> Monitor:
    return Monitor(ANY_MACHINE, KNOCKED, MONITOR_GUARDS, violation=violation, remedy=remedy)


async def test_the_event_of_the_remedy_is_taken_and_its_sender_is_told() -> None:
    session = Session(monitors=[monitor("refuse", knock)])
    async with Actor(DOOR, session=session) as actor:
        step = await actor.request("OPEN")
        assert step.event is not None
        assert (step.event.name, step.event.data["because"]) == ("KNOCK", "knocked: Nobody has knocked")
        assert actor.matches("heard")
        step = await actor.request("OPEN")
        assert step.event is not None and step.event.name == "OPEN"
        assert actor.matches("wide"), "it knows the knock"


async def test_without_a_remedy_a_refusal_stops() -> None:
    for one in (monitor("refuse"), monitor("refuse", lambda *_: None), monitor("stop", knock)):
        actor = Actor(DOOR, session=Session(monitors=[one]))
        with pytest.raises(ActorCrashed, match="the monitor 'knocked', state 'burst_in': Nobody has knocked"):
            async with actor:
                await actor.request("OPEN")
        assert actor.matches("shut")


async def test_a_report_is_logged_once_and_the_step_happens() -> None:
    lines: list[tuple[str, str, Any]] = []
    session = Session(monitors=[monitor("report")], log=lambda *line: lines.append(line))
    async with Actor(DOOR, session=session) as actor:
        for event in ("OPEN", "CLOSE", "OPEN"):
            await actor.request(event)
        assert actor.matches("wide")
    ((level, message, fields),) = lines
    assert (level, fields["monitor"], fields["state"]) == ("warning", "knocked", "burst_in")
    assert "continues despite the monitor 'knocked'" in message


async def test_what_is_remembered_is_for_a_machine_that_goes_on() -> None:
    async with Actor(DOOR, session=Session()) as first:
        await first.request("KNOCK")
        snapshot = first.snapshot()
    watcher = Watcher(monitor("stop"), first.interpreter)
    heard = MetaEvent("state entered", state="heard")
    assert watcher.wants(heard)
    watcher.hear(heard)
    known = watcher.interpreter.snapshot()
    remembered = {"root": {"knocked": known}}
    async with Actor(DOOR, session=Session(monitors=[monitor("stop")], remembered=remembered), snapshot=snapshot) as on:
        await on.request("OPEN")
        assert on.matches("wide")
    fresh = Actor(DOOR, session=Session(monitors=[monitor("stop")], remembered=remembered))
    with pytest.raises(ActorCrashed, match="burst_in"):
        async with fresh:
            await fresh.request("OPEN")
