"""A process with one durable actor, that may be killed at any moment.

python -m tests.runtime.durable.durable_orders WHERE begin|resume ID …

It prints what happens, line by line, call after call.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from rawko import Actor, Bindings, SqlJournal, append, assign, parse_chart
from rawko.runtime.errors import RuntimeFault

CHART = parse_chart("""
statechart:
  name: order
  root state:
    name: order
    initial: open
    output: total
    states:
      - name: open
        transitions: [{event: ADD, action: add}, {event: PAY, target: charging}]
      - name: charging
        invoke: {id: charge, src: charge, on done: {target: waiting, action: keep}, on restore: restart}
      - name: waiting
        after: {100ms: paid}
      - {name: paid, type: final}
""")


def bindings_of(*, hangs: bool) -> Bindings:
    bindings = Bindings()

    @bindings.action
    def add(context: Any, event: Any) -> Any:
        return append("items", event.item)

    @bindings.action
    def keep(context: Any, event: Any) -> Any:
        return assign(charged=event.output)

    @bindings.output
    def total(context: Any, event: Any) -> Any:
        return {"items": context["items"], "charged": context.charged, "currency": context.currency}

    @bindings.actor
    async def charge(input: Any, scope: Any) -> Any:
        print(f"charging, attempt {scope.attempt}", flush=True)
        if hangs:
            await asyncio.Event().wait()
        return scope.attempt

    return bindings


INPUT = {"items": [], "charged": 0, "currency": "CHF"}


async def begin(where: str, id: str) -> None:
    journal = SqlJournal(where)
    async with Actor(CHART, bindings_of(hangs=True), journal=journal, id=id, input=INPUT) as actor:
        await actor.request("ADD", item={"name": "tea", "price": 4.5})
        await actor.request("ADD", item={"name": "cup", "price": 9})
        await actor.request("PAY")
        await asyncio.Event().wait()


async def resume(where: str, id: str) -> None:
    journal = SqlJournal(where)
    async with Actor.resume(id, CHART, bindings_of(hangs=False), journal=journal) as actor:
        print(f"resumed in {actor.configuration[-1]}", flush=True)
        print(await actor.run(), flush=True)
    await journal.aclose()


def call(step: str, where: str, id: str) -> None:
    try:
        asyncio.run({"begin": begin, "resume": resume}[step](where, id))
    except RuntimeFault as error:
        print(f"{type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    for step, id in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
        call(step, sys.argv[1], id)
