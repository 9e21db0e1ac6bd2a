"""Parts of the session with values: the history's file, the toolbar, what is completed, what is a command."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from rawko.app.conversations.files import matching
from rawko.app.conversations.spending import Spending
from rawko.cli.live.wrapping import cells
from rawko.cli.session.commands import COMMANDS, is_command
from rawko.cli.session.completing import InputCompleter, is_completed
from rawko.cli.session.history import MAX_CHARS, MAX_INPUTS, InputHistory
from rawko.cli.session.prompt import typed_ahead
from rawko.cli.session.toolbar import toolbar
from rawko.vocabulary.usage import Usage

# ---------------------------------------------------------------- history


def test_inputs_are_kept_for_their_owner_alone_and_without_keys(tmp_path: Path) -> None:
    path = tmp_path / "state" / "inputs.jsonl"
    history = InputHistory(path, lambda text: text.replace("sk-secret", "[masked]"))
    history.store_string("first\nline")
    history.store_string("use sk-secret")
    history.store_string("x" * (MAX_CHARS + 1))
    assert list(InputHistory(path).load_history_strings()) == ["use [masked]", "first\nline"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "secret" not in path.read_text()


def test_a_damaged_or_hostile_history_costs_its_lines_alone(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    path.write_bytes(b'"good"\nnot json\n{"a": 1}\n\xff\xfe\n' + json.dumps("a\x1b[2Jb\u202e").encode() + b"\n")
    assert list(InputHistory(path).load_history_strings()) == ["a\\x1b[2Jb\\u202e", "good"]


def test_a_long_history_is_cut_to_the_latest(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    path.write_text("".join(f'"{number}"\n' for number in range(2 * MAX_INPUTS)))
    history = InputHistory(path)
    history.store_string("last")
    kept = list(InputHistory(path).load_history_strings())
    assert (kept[0], kept[1], len(kept)) == ("last", str(2 * MAX_INPUTS - 1), MAX_INPUTS)
    assert len(path.read_text().splitlines()) == MAX_INPUTS + 1


def test_a_history_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    history = InputHistory(tmp_path / "file" / "inputs.jsonl")
    history.store_string("text")
    assert list(history.load_history_strings()) == []


# ---------------------------------------------------------------- toolbar


def spent() -> Spending:
    return Spending({"r": (Usage(input_tokens=12_000, output_tokens=1_400, calls=3), 0.0312)}, 18_000, "claude-x")


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (100, "developer · claude-sonnet-5 · 12k/1.4k tokens · $0.03 · context 9% · /help"),
        (45, "developer · claude-sonnet-5 · context 9%"),
        (30, "developer · claude-sonnet-5"),
        (20, "developer"),
        (6, "deve…"),
    ],
)
def test_a_narrow_terminal_shows_what_counts_most(columns: int, told: str) -> None:
    line = toolbar("developer", "claude-sonnet-5", spent(), 0.09, columns)
    assert line.replace("$0.0312", "$0.03") == told
    assert cells(line) < columns


def test_names_in_the_toolbar_hide_nothing() -> None:
    assert "\x1b" not in toolbar("a\x1b[2J", "m\u202e", Spending(), None, 80)


# ---------------------------------------------------------------- completion and commands


async def completed(text: str, files: tuple[str, ...] = ("src/a.py", "b.txt")) -> list[str]:
    asked = []

    async def find() -> tuple[str, ...]:
        asked.append(text)
        return files

    told = {name: command.told for name, command in COMMANDS.items()}
    completer = InputCompleter(told, {"agent": lambda: ("arbiter", "developer")}, find)
    found = [one.text async for one in completer.get_completions_async(Document(text), CompleteEvent())]
    assert bool(asked) == ("@" in text and " @" in f" {text}")
    return found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/mo", ["model"]),
        ("/agent d", ["developer"]),
        ("/agent x", []),
        ("say /mo", []),
        ("look at @a.", ["src/a.py "]),
        ("@", ["src/a.py ", "b.txt "]),
        ("mail a@b", []),
        ("plain", []),
    ],
)
async def test_commands_agents_and_files_are_completed(text: str, found: list[str]) -> None:
    assert await completed(text) == found
    assert is_completed(text) or not found


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("/diff all", True), ("/x", True), (" /help ", True), ("/etc/hosts is wrong", False), ("a /diff", False)],
)
def test_a_path_at_the_beginning_is_no_command(text: str, is_one: bool) -> None:
    assert is_command(text) is is_one
    assert not is_command(f"{text}\nand more")


def test_a_name_that_begins_so_comes_first() -> None:
    assert matching(("x/libsrc.py", "src/a.py", "lib/src.py"), "SRC", 9) == ("lib/src.py", "src/a.py", "x/libsrc.py")
    assert matching(("a", "b"), "", 1) == ("a",)


# ---------------------------------------------------------------- typed before the input line was drawn


@pytest.mark.parametrize(
    ("begun", "keys", "given"),
    [
        ("", "fix it\n", "fix it"),
        ("fix ", "it\n", "fix it"),
        ("fix it", "\n", "fix it"),
        ("", "\n", ""),
        ("", "o\n", ""),
        ("", "not entered", ""),
    ],
)
def test_a_line_that_was_entered_before_is_an_input(begun: str, keys: str, given: str) -> None:
    master, terminal = os.openpty()
    try:
        os.write(master, keys.encode())
        assert typed_ahead(terminal, begun) == given
    finally:
        os.close(master)
        os.close(terminal)
