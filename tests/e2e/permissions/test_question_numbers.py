"""Answers that say which question they are for: one to an earlier question is refused, and nothing is allowed by it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

from rawko.app.overrides.override import Reply
from rawko.app.records.journal import open_journal
from rawko.app.run.driving.inbox_reader import QUESTION_CLOSED
from rawko.app.run.driving.questions import question_number
from rawko.app.run.inbox import leave, reply_to
from rawko.config import Flags, Settings, load_settings
from rawko.runtime.journal import Journal
from tests.cli.shell import Ended, Shell, call, says
from tests.cli.terminal import Terminal

Typed = Callable[..., Ended]
TWO_COMMANDS = [
    says("developer", call("bash", command="touch one.txt")),
    says("developer", call("bash", command="touch two.txt")),
    says("developer", call("complete", summary="Done.")),
]


def settings_of(rawko: Shell) -> Settings:
    return load_settings(rawko.folder, Flags(), rawko.environ({"RAWKO_PROVIDER": "anthropic"}))


def number_of(settings: Settings, run: str) -> int | None:
    async def ask() -> int | None:
        journal: Journal = open_journal(settings)
        try:
            return await question_number(journal, run, "root")
        finally:
            await journal.aclose()  # type: ignore[attr-defined]

    return asyncio.run(ask())


def answered(settings: Settings, run: str, text: str, number: int) -> Reply:
    """What becomes of an answer that another process gives."""
    letter = leave(settings, run, "answer", who="ada", text=text, question=number)
    until = time.monotonic() + 120
    while (reply := reply_to(letter)) is None:
        assert time.monotonic() < until, "no reply to the answer"
        time.sleep(0.05)
    return reply


def test_an_answer_is_taken_by_the_question_that_it_names_alone(rawko: Shell, typed: Typed) -> None:
    scenario = str(rawko.scenario(*TWO_COMMANDS))
    with Terminal(rawko, "run", "Touch", "--agent", "developer", "--scenario", scenario) as terminal:
        terminal.wait_for("Allow it?", timeout_s=120)
        settings = settings_of(rawko)
        [found] = [json.loads(line) for line in typed("runs", "--json").out.splitlines()]
        run = found["run"]
        first = number_of(settings, run)
        assert first is not None
        assert answered(settings, run, "once", first).is_taken
        terminal.wait_for("Allow it?", timeout_s=120)
        second = number_of(settings, run)
        assert second is not None and second > first
        late = answered(settings, run, "once", first)
        assert (late.is_taken, late.receipt) == (False, QUESTION_CLOSED)
        assert (rawko.folder / "one.txt").exists() and not (rawko.folder / "two.txt").exists()
        assert answered(settings, run, "once", second).is_taken
        terminal.wait_for("Task completed", timeout_s=120)
        assert terminal.end() == 0
    assert number_of(settings, run) is None
    assert (rawko.folder / "two.txt").exists()


def test_a_question_of_a_run_that_was_taken_up_again_keeps_its_number(
    rawko: Shell, typed: Typed, tmp_path: Path
) -> None:
    asked = typed("run", "Touch", "--agent", "developer", "--scenario", str(rawko.scenario(*TWO_COMMANDS)), "--json")
    run = asked.report["run"]
    settings = settings_of(rawko)
    before = number_of(settings, run)
    assert before is not None
    with Terminal(rawko, "resume", run) as terminal:
        terminal.wait_for("Allow it?", timeout_s=120)
        assert number_of(settings, run) == before
        assert not answered(settings, run, "once", before - 1).is_taken
        assert answered(settings, run, "deny", before).is_taken
        terminal.wait_for("Allow it?", timeout_s=120)
    assert not (rawko.folder / "one.txt").exists()
