"""Messages that a full inbox has refused: a resume does not deliver them, and loses no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rawko import Actor, Bindings, ChildMachine, SqlJournal, append, child_machine, parse_chart

LISTENER = parse_chart("""
statechart:
  name: listener
  root state:
    name: listener
    initial: a
    states:
      - name: a
        invoke: {id: kid, src: kid, on restore: resume}
        transitions:
          - {event: NOISE, action: keep}
          - {event: GO, action: {send: {event: GO, to: kid}}}
""")
SHOUTER = """
statechart:
  name: shouter
  root state:
    name: shouter
    initial: a
    states:
      - name: a
        transitions:
          - event: GO
            action:
              - {send: {event: NOISE, to: TO, data: {n: 10}}}
              - {send: {event: NOISE, to: TO, data: {n: 20}}}
              - {send: {event: NOISE, to: TO, data: {n: 30}}}
"""
HEARS = "          - {event: error.communication}\n"


def bindings_of(shouter: str) -> Bindings:
    bindings, chart = Bindings(), parse_chart(shouter)

    @bindings.action
    def keep(context: Any, event: Any) -> Any:
        return append("told", event.n)

    bindings.add("actor", "kid", child_machine(lambda given: ChildMachine(chart, Bindings(), {})))
    return bindings


@pytest.mark.parametrize("hears", ["", HEARS])
@pytest.mark.parametrize("to", ["parent", "root"])
async def test_what_was_refused_is_not_delivered_by_a_resume(tmp_path: Path, to: str, hears: str) -> None:
    bindings = bindings_of(SHOUTER.replace("TO", to) + hears)
    journal = SqlJournal(tmp_path / "journal.db")
    async with Actor(LISTENER, bindings, input={"told": []}, id="a", journal=journal, inbox_limit=1) as actor:
        for _ in range(2):
            await actor.settle()
            actor.send("GO")
        await actor.settle()
        lost = [event for event in actor.session.stream.since(0) if event["type"] == "undelivered"]
        assert len(lost) == 4
        assert list(actor.context["told"]) == [10, 10]
    async with Actor.resume("a", LISTENER, bindings, journal=journal) as actor:
        await actor.settle()
        assert list(actor.context["told"]) == [10, 10]
    await journal.aclose()
