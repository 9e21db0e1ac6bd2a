"""A model's pieces of text reach the machine in order, joined where they arrive close together, and none waits long."""

from __future__ import annotations

import asyncio
from typing import Any

from rawko.machines.agent_loop.text_relay import PERIOD_S, TextRelay
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


async def test_the_first_piece_goes_on_at_once_and_the_next_ones_together() -> None:
    parent = Parent()
    relay = TextRelay(parent)
    assert [relay.take(piece) for piece in ("I ", "look ", "at it")] == ["I ", "", ""]
    assert parent.got == []
    await parent.was_asked.wait()
    assert parent.got == ["look at it"]
    assert relay.rest() == ""


async def test_a_piece_after_a_pause_goes_on_at_once() -> None:
    parent = Parent()
    relay = TextRelay(parent)
    relay.take("one ")
    await asyncio.sleep(3 * PERIOD_S)
    assert relay.take("two") == "two"
    assert parent.got == []


async def test_text_waits_while_the_machine_is_behind_and_then_goes_on_as_a_whole() -> None:
    parent = Parent()
    parent.is_behind = True
    relay = TextRelay(parent)
    relay.take("one ")
    relay.take("two ")
    await parent.was_asked.wait()
    parent.was_asked.clear()
    assert relay.take("three") == "", "it must not overtake what waits"
    parent.is_behind = False
    await parent.was_asked.wait()
    assert parent.got == ["two three"]


async def test_the_rest_is_for_the_caller_and_after_the_end_nothing_is_sent() -> None:
    parent = Parent()
    relay = TextRelay(parent)
    relay.take("one ")
    relay.take("two")
    assert relay.rest() == "two"
    assert relay.rest() == "", "it was given once"
    relay.take("three")
    relay.close()
    await asyncio.sleep(2 * PERIOD_S)
    assert parent.got == []
