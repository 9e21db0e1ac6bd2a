"""Real programs on a real pseudo-terminal: started, read, typed at, ended."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from rawko.machines.node_engine.explore.ports import TerminalError
from rawko.terminal import PtyTerminal
from rawko.terminal.adapter import find_program, terminal_environment
from rawko.terminal.process import MARK

Make = Callable[..., Awaitable[PtyTerminal]]


@pytest.fixture
async def launched(tmp_path: Path) -> AsyncIterator[Make]:
    """`await launched("sh", "-c", "...")`; everything is ended afterwards."""
    made: list[PtyTerminal] = []

    async def launch(*command: str, **settings: Any) -> PtyTerminal:
        terminal = PtyTerminal(command, cwd=str(tmp_path), env=os.environ, **settings)
        made.append(terminal)
        await terminal.launch()
        return terminal

    yield launch
    for terminal in made:
        await terminal.close()


def script(text: str) -> tuple[str, ...]:
    return sys.executable, "-u", "-c", text


async def test_a_program_has_a_terminal_of_its_own(launched: Make) -> None:
    terminal = await launched(
        *script(
            "import os; print(os.isatty(0), os.get_terminal_size(), os.environ['TERM'], os.tcgetpgrp(0) == os.getpid(),"
            "os.ttyname(0) == os.ttyname(2), open('/dev/tty').isatty())"
        ),
        size=(100, 30),
    )
    assert await terminal.until_quiet(200, 10_000)
    shown = terminal.screen().text.replace("\n", "")
    assert "True os.terminal_size(columns=100, lines=30) xterm-256color True True True" in shown
    assert terminal.exit_status == 0


async def test_typing_pasting_and_pressing(launched: Make) -> None:
    terminal = await launched("cat", "-v")
    await terminal.send("héllo", ["enter"])
    assert await terminal.until_shown("hM-CM-)llo", 10_000)
    await terminal.send("a\nb", ["enter"], paste=True)
    await terminal.until_quiet(200, 10_000)
    await terminal.send("", ["up", "enter"])
    assert await terminal.until_shown("^[[A\n^[[A", 10_000)
    await terminal.send("", ["ctrl-c"])
    assert await terminal.until_quiet(200, 10_000)
    assert terminal.exit_status == 130


async def test_less_draws_on_the_alternate_screen_and_gives_the_other_back(launched: Make, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f"line {n} 日本\n" for n in range(100)), encoding="utf-8")
    terminal = await launched("less", "lines", size=(40, 10))
    assert await terminal.until_shown("line 8 日本", 10_000)
    assert terminal.screen().is_alternate
    await terminal.send("G", [])
    assert await terminal.until_shown("line 99", 10_000)
    await terminal.send("q", [])
    await terminal.until_quiet(100, 10_000)
    assert (terminal.screen().text, terminal.screen().is_alternate, terminal.exit_status) == ("", False, 0)


async def test_a_program_that_floods_is_read_and_ended(launched: Make) -> None:
    terminal = await launched("yes", "so much")
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    beside = asyncio.create_task(others())
    started = time.monotonic()
    assert not await terminal.until_quiet(100, 600)
    assert time.monotonic() - started < 60
    beside.cancel()
    assert turns > 5, "others in the loop get their turn"
    assert "so much" in terminal.screen().text
    assert await terminal.close() == 129


@pytest.mark.slow
async def test_a_program_that_takes_no_notice_of_signals_is_killed(launched: Make) -> None:
    terminal = await launched("sh", "-c", "trap '' HUP TERM INT; echo on; sleep 100 & wait; sleep 100")
    assert await terminal.until_shown("on", 10_000)
    assert terminal.is_open
    group = await terminal_group(terminal)
    assert await terminal.close() == 137
    assert not any(os.getpgid(p.pid) == group for p in psutil.process_iter() if lives(p))


async def terminal_group(terminal: PtyTerminal) -> int:
    process = terminal._process
    assert process is not None
    return process.pid


def lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and os.getpgid(process.pid) >= 0
    except (psutil.Error, ProcessLookupError):
        return False


@pytest.mark.slow
async def test_a_job_of_a_shell_is_ended_with_it(launched: Make) -> None:
    terminal = await launched("bash", "--norc", "-i")
    await terminal.send("trap '' HUP; sleep 97", ["enter"])
    await until(lambda: sleeps("97"))
    await terminal.close()
    await until(lambda: not sleeps("97"))


def sleeps(seconds: str) -> bool:
    return any(lives(p) and p.name() == "sleep" and p.cmdline()[1:] == [seconds] for p in psutil.process_iter())


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "nohup sleep 96 >/dev/null 2>&1 &",
        "(setsid sleep 96 >/dev/null 2>&1 </dev/null &)",
        "setsid sh -c 'trap \"\" HUP TERM; sleep 96 & wait; sleep 96' >/dev/null 2>&1 &",
        "(setsid sleep 96 >/dev/null 2>&1 &); sleep 0.2; exit",
    ],
    ids=["a job in the background", "a daemon", "a daemon that takes no notice", "a daemon of a shell that has ended"],
)
async def test_what_has_left_the_programs_group_is_ended_too(launched: Make, line: str) -> None:
    terminal = await launched("bash", "--norc", "-i")
    await terminal.send(line, ["enter"])
    await until(lambda: sleeps("96"))
    if line.endswith("exit"):
        assert await terminal.until_quiet(5_000, 10_000)
        assert terminal.exit_status == 0
    await terminal.close()
    await until(lambda: not sleeps("96"))


async def test_a_daemon_of_a_rawko_that_was_killed_is_ended_before_the_next_launch(tmp_path: Path) -> None:
    """The mark is all that another process knows of it."""
    left, other = [
        await asyncio.create_subprocess_exec("sleep", "95", env={**os.environ, MARK: mark}, start_new_session=True)
        for mark in ("abc", "abcd")
    ]
    terminal = PtyTerminal(["cat"], cwd=str(tmp_path), env=os.environ, mark="abc")
    try:
        await terminal.launch()
        assert await left.wait() == -signal.SIGKILL
        assert other.returncode is None, "nobody else's"
    finally:
        await terminal.close()
        other.kill()
        await other.wait()


async def test_a_program_that_is_stopped_is_ended_without_being_killed(launched: Make) -> None:
    terminal = await launched("sh", "-c", "echo on; kill -STOP $$")
    assert await terminal.until_shown("on", 10_000)
    assert await terminal.close() == 129


async def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


async def test_a_program_that_does_not_read(launched: Make) -> None:
    raw = script("import tty, time; tty.setraw(0); print('raw'); time.sleep(100)")
    terminal = await launched(*raw, write_timeout_s=0.3)
    assert await terminal.until_shown("raw", 10_000)
    with pytest.raises(TerminalError, match=r"reads no input: \d+ bytes were left"):
        await terminal.send("x" * 200_000, [])


async def test_a_program_that_has_ended_cannot_be_typed_at(launched: Make) -> None:
    terminal = await launched("sh", "-c", "exit 3")
    await terminal.until_quiet(5_000, 10_000)
    assert terminal.exit_status == 3
    with pytest.raises(TerminalError, match="has ended with status 3"):
        await terminal.send("x", [])
    assert await terminal.close() == 3
    assert await terminal.close() == 3
    assert not terminal.is_open


async def test_a_program_that_dies_of_a_signal(launched: Make) -> None:
    terminal = await launched("sh", "-c", "echo last words; kill -9 $$")
    assert await terminal.until_quiet(5_000, 10_000)
    assert (terminal.exit_status, terminal.screen().text) == (137, "last words")


async def test_a_terminal_that_the_program_closes(launched: Make) -> None:
    terminal = await launched(*script("import os, time; [os.close(n) for n in (0, 1, 2)]; time.sleep(100)"))
    await terminal.until_quiet(300, 5_000)
    assert terminal.exit_status is None, "it is not hung up on"
    with pytest.raises(TerminalError, match="the program has closed its terminal"):
        await terminal.send("x", ["enter"])
    assert await terminal.close() == 129


@pytest.mark.slow
@pytest.mark.parametrize("waits", ["until_shown", "until_quiet", "until_written"])
async def test_the_last_words_of_a_program_are_read_though_its_end_is_known_first(launched: Make, waits: str) -> None:
    terminal = await launched("sh", "-c", "echo first; read x; echo last words")
    assert await terminal.until_shown("first", 10_000)
    await terminal.send("", ["enter"])
    time.sleep(1)  # noqa: ASYNC251 - nobody reads meanwhile: both are to be learnt in the same turn of the loop
    given = {"until_shown": ("last words", 10_000), "until_quiet": (5_000, 10_000), "until_written": (10_000,)}[waits]
    assert await getattr(terminal, waits)(*given)
    assert "last words" in terminal.screen().text


async def test_a_terminal_that_the_program_closes_and_opens_again(launched: Make) -> None:
    closes = "import os, time; [os.close(n) for n in (0, 1, 2)]; time.sleep(0.3)\n"
    opens = "os.open('/dev/tty', os.O_RDWR); os.dup(0); os.dup(0); print('open'); print('back', input())"
    terminal = await launched(*script(closes + opens))
    assert await terminal.until_shown("open", 10_000)
    await terminal.send("again", ["enter"])
    assert await terminal.until_shown("back again", 10_000)
    await terminal.until_quiet(5_000, 10_000)
    assert terminal.exit_status == 0


async def test_a_launch_ends_the_program_before(launched: Make) -> None:
    terminal = await launched("cat")
    first = await terminal_group(terminal)
    await terminal.launch()
    assert not psutil.pid_exists(first)
    assert terminal.exit_status is None


async def test_another_size(launched: Make) -> None:
    terminal = await launched("sh", "-c", "trap 'stty size; exit' WINCH; echo on; while :; do sleep 0.05; done")
    assert await terminal.until_shown("on", 10_000)
    terminal.resize(60, 20)
    assert await terminal.until_shown("20 60", 10_000)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no-such-program", "no such file or directory"),
        ("/etc/passwd", "permission denied"),
        ("/tmp", "permission denied"),
    ],
)
async def test_what_cannot_be_executed(launched: Make, name: str, told: str) -> None:
    with pytest.raises(TerminalError, match=told):
        await launched(name)


async def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    terminal = PtyTerminal(["cat"], cwd=str(tmp_path / "gone"), env=os.environ)
    with pytest.raises(TerminalError, match="cannot be started in"):
        await terminal.launch()


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_no_descriptor_is_left(launched: Make) -> None:
    before = descriptors()
    terminal = await launched("cat")
    for _ in range(5):
        await terminal.launch()
    await terminal.close()
    with pytest.raises(TerminalError):
        await launched("no-such-program")
    assert descriptors() <= before


def test_what_can_be_told_beforehand(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("", encoding="utf-8")
    here = str(tmp_path)
    assert find_program("cat", os.environ, here) is None
    assert find_program("no-such-program", os.environ, here) == "there is no program 'no-such-program' on PATH"
    assert find_program("./plain", os.environ, here) == "'./plain' is not executable"
    assert find_program("./gone", os.environ, here) == "there is no program './gone'"
    assert find_program("./", os.environ, here) == "'./' is not executable"
    assert find_program("", os.environ, here) == "the command is empty"


def test_the_environment_is_of_this_terminal() -> None:
    made = terminal_environment({"TERM": "dumb", "COLUMNS": "300", "LANG": "C", "LC_ALL": "C", "HOME": "/h"})
    assert made == {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C",
        "HOME": "/h",
        "LC_CTYPE": "C.UTF-8",
    }
    assert terminal_environment({"LC_ALL": "de_DE.utf8"})["LC_ALL"] == "de_DE.utf8"


@pytest.mark.parametrize("locale", [{"LANG": "xx_XX.UTF-8"}, {"LC_ALL": "tr_TR.UTF-8"}, {"LC_ALL": "C"}, {}], ids=str)
async def test_a_program_writes_utf_8_whatever_the_locale_is(tmp_path: Path, locale: dict[str, str]) -> None:
    shown = "import _locale; _locale.setlocale(6, ''); print('it is', _locale.nl_langinfo(_locale.CODESET), 'ö')"
    environ = {"PATH": os.environ["PATH"], **locale}
    terminal = PtyTerminal([sys.executable, "-c", shown], cwd=str(tmp_path), env=environ)
    await terminal.launch()
    try:
        assert await terminal.until_shown("it is UTF-8 ö", 10_000), terminal.screen().text
    finally:
        await terminal.close()


async def test_what_follows_escape_is_a_key_of_its_own(launched: Make) -> None:
    reads = "import os, tty; tty.setraw(0); print('raw'); [print(os.read(0, 99), end='\\r\\n') for _ in range(3)]"
    terminal = await launched(*script(reads))
    assert await terminal.until_shown("raw", 10_000)
    await terminal.send("a", ["escape", "q", "escape", "up"])
    assert await terminal.until_shown("b'a\\x1b'\nb'q\\x1b'\nb'\\x1b[A'", 10_000)


MENU = """
import curses
def main(window):
    curses.curs_set(0)
    chosen, items = 0, ["Öffnen", "Sichern", "日本語"]
    while True:
        window.erase()
        window.box()
        for number, item in enumerate(items):
            window.addstr(number + 1, 2, item, curses.A_REVERSE if number == chosen else 0)
        window.refresh()
        key = window.getch()
        if key == curses.KEY_DOWN: chosen += 1
        elif key == curses.KEY_F1: items[chosen] = "Hilfe"
        elif key == curses.KEY_RESIZE: items[0] = "%dx%d" % window.getmaxyx()[::-1]
        elif key == ord("q"): break
curses.wrapper(main)
"""


async def test_a_full_screen_program_with_arrow_keys_and_function_keys(launched: Make) -> None:
    terminal = await launched(*script(MENU), size=(30, 8))
    assert await terminal.until_shown("┘", 10_000)
    screen = terminal.screen()
    assert screen.is_alternate
    assert (screen.lines[0], screen.lines[-1]) == ("┌" + "─" * 28 + "┐", "└" + "─" * 28 + "┘")
    assert [mark.text for mark in screen.highlights] == ["Öffnen"]
    await terminal.send("", ["down", "down", "f1"])
    assert await terminal.until_shown("Hilfe", 10_000)
    await terminal.until_quiet(100, 10_000)
    assert [mark.text for mark in terminal.screen().highlights] == ["Hilfe"]
    terminal.resize(40, 10)
    assert await terminal.until_shown("40x10", 10_000)
    await terminal.send("q", [])
    await terminal.until_quiet(300, 10_000)
    assert (terminal.exit_status, terminal.screen().is_alternate) == (0, False)
