"""Runs that follow each other: which one a folder goes on with, where it stands, what the next task is given."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from rawko.app.conversations.chain import (
    Conversation,
    ConversationStatus,
    chain,
    continued_flags,
    latest,
    status_of,
    views_of,
)
from rawko.app.conversations.files import files_of
from rawko.app.conversations.spending import Spending
from rawko.app.records.record import read_record
from rawko.config import ConfigError, Flags, Settings, load_settings
from rawko.runtime.inspection import InspectionEvent
from tests.cli.conftest import Typed, rawko, typed
from tests.cli.shell import Shell, call, says

__all__ = ["rawko", "typed"]
DONE = says("developer", call("complete", summary="Done."))


def settings_in(rawko: Shell, folder: Path | None = None) -> Settings:
    return load_settings(folder or rawko.folder, Flags({}), rawko.environ())


def run(rawko: Shell, typed: Typed, task: str, *words: str, reply: dict[str, object] = DONE) -> str:
    scenario = str(rawko.scenario(reply))
    ended = typed("run", task, "--agent", "developer", "--scenario", scenario, "--json", *words)
    return str(ended.report["run"])


def test_the_latest_run_of_the_folder_and_those_that_it_follows(rawko: Shell, typed: Typed) -> None:
    settings = settings_in(rawko)
    assert latest(settings) is None
    first = run(rawko, typed, "one")
    second = run(rawko, typed, "two", "--continue", first)
    damaged = settings.state_dir / "runs" / "99999999-damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    found = latest(settings)
    shutil.rmtree(damaged)
    assert found is not None and found.run == second, "a damaged record hides no other"
    assert [record.task for record in chain(second, settings)] == ["one", "two"]
    views = asyncio.run(views_of(second, settings))
    assert Spending.of(views).usage.calls == 2
    shutil.rmtree(settings.state_dir / "runs" / first)
    assert [record.task for record in chain(second, settings)] == ["two"], "it begins later where a run was removed"


def test_where_a_run_stands(rawko: Shell, typed: Typed) -> None:
    settings = settings_in(rawko)

    def standing(name: str) -> ConversationStatus:
        return status_of(read_record(name, settings))

    ended = run(rawko, typed, "one")
    waits = run(rawko, typed, "two", reply=says("developer", call("clarify", question="?")))
    assert (standing(ended), standing(waits)) == (ConversationStatus.ENDED, ConversationStatus.WAITS)
    assert typed("fork", f"{ended}@last", "--task", "other").code == 0
    [folder] = rawko.folder.parent.glob("project-*")
    forked = latest(settings_in(rawko, folder))
    assert forked is not None and status_of(forked) is ConversationStatus.FORKED
    of_folder = latest(settings)
    assert of_folder is not None and of_folder.run == waits, "a fork is of its own folder"
    assert typed("rewind", f"{ended}@1").code == 0
    assert standing(ended) is ConversationStatus.REWOUND
    with pytest.raises(ConfigError, match="has ended"):
        asyncio.run(Conversation(settings, last=run(rawko, typed, "three")).unfinished(settings))
    with pytest.raises(ConfigError, match="no task yet"):
        Conversation(settings).to_cancel("me")


def test_a_conversation_that_is_taken_up_keeps_its_provider_and_model(rawko: Shell, typed: Typed) -> None:
    settings = settings_in(rawko)
    record = read_record(run(rawko, typed, "one", "--model", "m-1"), settings)
    kept = continued_flags(record, Flags({}))
    assert dict(kept.items()) == {"provider": "scripted", "model": "m-1", "scenario": record.settings.scenario}
    assert continued_flags(record, Flags({"model": "m-2"})).get("model") == "m-2"
    assert continued_flags(record, Flags({"provider": "anthropic"})).get("scenario") is None


def test_what_was_used_is_counted_once_and_the_window_by_its_latest_turn(rawko: Shell) -> None:
    settings = replace(settings_in(rawko), context_window=1_000)
    turn: InspectionEvent = {
        "type": "emit",
        "actor": "root",
        "time": 1.0,
        "event": "TURN_DONE",
        "data": {"usage": {"input_tokens": 90, "output_tokens": 10}, "model": "m"},
    }
    spending = Spending()
    assert spending.context_used(settings) is None
    assert spending.after(turn).after(turn).context_used(settings) == 0.1
    assert spending.cost_usd is None


async def test_files_are_listed_without_ignored_ones_and_without_control_characters(rawko: Shell) -> None:
    for name in ("b.py", "a/c.py", "x.log", "e\x1b[2J"):
        rawko.write(name, "")
    rawko.write(".gitignore", "*.log\n")
    assert await files_of(rawko.folder) == (".gitignore", "a/c.py", "b.py", '"e\\u001b[2J"')
    assert await files_of(rawko.folder / "gone") == ()
