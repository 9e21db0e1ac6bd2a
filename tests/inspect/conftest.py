"""Charts that the inspector shows, and a client that asks it over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any

import pytest

from rawko import Actor, Bindings, ChildMachine, assign, child_machine
from rawko.chart import parse_chart
from rawko.inspect import Inspector
from rawko.interpreter.clocks import SimulatedClock

KID = parse_chart("""
statechart:
  name: printer
  root state:
    name: printer
    initial: printing
    output: {pages: 1}
    states:
      - {name: printing, after: {1s: printed}, transitions: [{event: HURRY, target: printed}]}
      - {name: printed, type: final}
""")
TURNSTILE = parse_chart("""
statechart:
  name: turnstile
  root state:
    name: turnstile
    initial: locked
    states:
      - name: locked
        invoke: {id: receipt, src: print_receipt}
        transitions: [{event: COIN, guard: is_enough, target: open, action: count}]
      - name: open
        after: {10s: locked}
        transitions: [{event: PUSH, target: locked}, {event: CLOSE, target: closed}]
      - {name: closed, type: final}
""")


def turnstile_bindings() -> Bindings:
    bindings = Bindings()
    bindings.add("guard", "is_enough", lambda context, event: event.cents >= context.price)
    bindings.add("action", "count", lambda context, event: assign(visitors=context.visitors + 1))
    bindings.add("actor", "print_receipt", child_machine(lambda input: ChildMachine(KID, Bindings(), {})))
    return bindings


def turnstile(**options: Any) -> Actor:
    given = {"input": {"visitors": 0, "price": 50}, "clock": SimulatedClock(), **options}
    return Actor(TURNSTILE, turnstile_bindings(), **given)


class Asking:
    """A client of one inspector."""

    def __init__(self, inspector: Inspector) -> None:
        self.port = inspector.port
        self.secret = inspector.link.partition("secret=")[2]

    def raw(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        given = {"X-Rawko-Secret": self.secret, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request(method, path, None if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        told = answer.read()
        connection.close()
        return answer.status, json.loads(told) if told[:1] in (b"{", b"[") else told

    def get(self, path: str) -> Any:
        """The JSON of an answer that is no refusal."""
        status, told = self.raw(path)
        assert status == 200, told
        return told

    async def ask(self, path: str) -> Any:
        """`get`, while the actors of this loop go on."""
        return await asyncio.to_thread(self.get, path)

    async def send(self, run: str, actor: str, event: str, /, **data: Any) -> tuple[int, Any]:
        body = {"actor": actor, "event": event, "data": data}
        return await asyncio.to_thread(self.raw, f"/api/runs/{run}/event", "POST", body)

    async def until(self, path: str, holds: Callable[[Any], Any]) -> Any:
        """What an address answers once it is as wanted."""
        while not holds(found := await self.ask(path)):  # noqa: ASYNC110 - of another thread
            await asyncio.sleep(0.02)
        return found


@pytest.fixture
def asking() -> type[Asking]:
    return Asking
