"""The latest output of a running command reaches those who watch, bounded and not too often."""

from __future__ import annotations

import asyncio
from typing import Any

from rawko.machines.agent_loop.output_relay import MAX_TAIL_BYTES, PERIOD_S, OutputRelay


class Heard:
    """The scope of an actor; keeps what it tells the observers."""

    id, number, attempt = "execute_tool", 1, 1

    def __init__(self) -> None:
        self.emitted: list[dict[str, Any]] = []
        self.has_heard = asyncio.Event()

    def emit(self, event: str, /, **data: Any) -> None:
        assert event == "TOOL_OUTPUT"
        self.emitted.append(data)
        self.has_heard.set()

    def send_parent(self, event: str, /, **data: Any) -> None:
        raise AssertionError(event)

    def log(self, message: str, /, level: str = "info", **data: Any) -> None:
        raise AssertionError(message)


async def test_pieces_are_told_together() -> None:
    heard = Heard()
    relay = OutputRelay(heard, "developer", "c1")
    relay(b"caf\xc3")
    relay(b"\xa9\n")
    assert heard.emitted == []
    await heard.has_heard.wait()
    assert heard.emitted == [{"agent": "developer", "id": "c1", "tail": "café\n", "bytes": 6}]
    await asyncio.sleep(2 * PERIOD_S)
    assert len(heard.emitted) == 1, "nothing new, nothing told"


async def test_a_flood_is_bounded() -> None:
    heard = Heard()
    relay = OutputRelay(heard, "developer", "c1")
    for _ in range(1000):
        relay(b"x" * 1000)
    await heard.has_heard.wait()
    assert heard.emitted[-1]["bytes"] == 1_000_000
    assert len(heard.emitted[-1]["tail"]) == MAX_TAIL_BYTES


async def test_after_the_end_nothing_is_told() -> None:
    heard = Heard()
    relay = OutputRelay(heard, "developer", "c1")
    relay(b"late")
    relay.close()
    await asyncio.sleep(2 * PERIOD_S)
    assert heard.emitted == []
