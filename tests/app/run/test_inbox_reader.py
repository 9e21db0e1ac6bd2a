"""Answers of other processes to a running machine: when their senders get a reply."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rawko import Actor, parse_chart
from rawko.app.run.driving.inbox_reader import QUESTION_CLOSED, InboxReader
from rawko.app.run.inbox import leave, reply_to
from rawko.config import Flags, load_settings
from rawko.runtime import MemoryJournal
from rawko.runtime.journal import StepRecord

ASKING = parse_chart("""
statechart:
  name: asking
  root state:
    name: asking
    initial: waiting
    states:
      - {name: waiting, transitions: [{event: APPROVE, target: working}]}
      - {name: working}
""")


class SlowJournal(MemoryJournal):
    """Holds every row back until it may be written."""

    def __init__(self) -> None:
        super().__init__()
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.is_asked = asyncio.Event()

    async def append(self, record: StepRecord) -> None:
        self.is_asked.set()
        await self.may_write.wait()
        await super().append(record)


async def test_the_reply_to_an_answer_follows_its_commit(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, Flags(), {"RAWKO_STATE_DIR": str(tmp_path / "state")})
    journal = SlowJournal()

    async def number(path: str) -> int | None:
        return 3

    reader = InboxReader(settings, "r", lambda who: None, lambda actor: True, number_of=number)
    asked = {"question": {"kind": "approval"}}
    async with Actor(ASKING, id="r", journal=journal, input=asked) as actor:
        await actor.settle()
        journal.may_write.clear()
        journal.is_asked.clear()
        answers = [leave(settings, "r", "answer", who=who, text="once", question=3) for who in ("ada", "bob")]
        reading = asyncio.create_task(reader.read(actor))
        await journal.is_asked.wait()
        await asyncio.sleep(0)
        early = reply_to(answers[0])
        journal.may_write.set()
        assert early is None, "nothing was taken yet"
        await reader.are_read.wait()
        reading.cancel()
        assert [(reply := reply_to(one)) and reply.receipt for one in answers] == ["taken", QUESTION_CLOSED]
