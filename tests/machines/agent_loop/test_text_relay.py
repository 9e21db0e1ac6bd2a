"""A model's pieces of text reach the machine in order, joined where they arrive close together, and none waits long."""

from __future__ import annotations

import asyncio
from typing import Any

from rawko.machines.agent_loop.text_relay import FIRST_S, PERIOD_S, TextRelay
from rawko.runtime.errors import InboxFull


class Parent:
    """The scope of an actor; keeps what it sends to the machine, unless the machine is behind."""

    id, number, attempt = "stream_agent", 1, 1

    def __init__(self) -> None:
        self.got: list[str] = []
        self.is_behind = False
        self.was_asked = asyncio.Event()

    def send_parent(self, event: str, /, **data: Any) -> None:
        self.was_asked.set()
        if self.is_behind:
            raise InboxFull("root", 1)
        assert event == "TEXT_DELTA"
        self.got.append(data["text"])

    def emit(self, event: str, /, **data: Any) -> None:
        raise AssertionError(event)

    def log(self, message: str, /, level: str = "info", **data: Any) -> None:
        raise AssertionError(message)


async def sent_by(parent: Parent) -> list[str]:
    """What the machine has got when it is asked next."""
    parent.was_asked.clear()
    await parent.was_asked.wait()
    return parent.got


async def test_the_pieces_that_come_together_are_one_event_and_so_are_those_of_the_next_period() -> None:
    parent = Parent()
    relay = TextRelay(parent)
    for piece in ("I ", "shall "):
        relay.take(piece)
    assert parent.got == []
    assert await sent_by(parent) == ["I shall "]
    for piece in ("look ", "at it"):
        relay.take(piece)
    assert await sent_by(parent) == ["I shall ", "look at it"]
    assert relay.rest() == ""


async def test_a_piece_after_a_pause_waits_a_moment_only() -> None:
    parent = Parent()
    relay = TextRelay(parent)
    relay.take("one ")
    await asyncio.sleep(3 * PERIOD_S)
    relay.take("two ")
    await asyncio.sleep(2 * FIRST_S)
    relay.take("three")
    assert await sent_by(parent) == ["one ", "two ", "three"]


async def test_text_waits_while_the_machine_is_behind_and_then_goes_on_as_a_whole() -> None:
    parent = Parent()
    parent.is_behind = True
    relay = TextRelay(parent)
    relay.take("one ")
    relay.take("two ")
    assert await sent_by(parent) == []
    relay.take("three")
    parent.is_behind = False
    assert await sent_by(parent) == ["one two three"], "nothing overtakes what waits"


async def test_the_rest_is_for_the_caller_and_after_the_end_nothing_is_sent() -> None:
    parent = Parent()
    relay = TextRelay(parent)
    relay.take("one ")
    relay.take("two")
    assert relay.rest() == "one two"
    assert relay.rest() == "", "it was given once"
    relay.take("three")
    relay.close()
    await asyncio.sleep(2 * PERIOD_S)
    assert parent.got == []
