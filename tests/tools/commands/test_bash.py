"""Commands that misbehave: never ending, flooding, leaving children, ending the shell, printing rubbish."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import psutil
import pytest

from rawko.runtime.ports import Toolbox, ToolOutcome
from rawko.tools.commands.bash import BashSettings
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall
from tests.thorough import further
from tests.tools.conftest import Use


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pids(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()]


def read(path: Path) -> str:
    return path.read_text()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def appears(path: Path) -> None:
    """A file of a command's making is there. Polled: only the file system is between us and the command."""
    async with asyncio.timeout(60):
        while not path.exists():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.01)


async def test_output_of_both_streams_and_exit_code(use: Use) -> None:
    outcome = await use("bash", command="echo out; echo err >&2; exit 7")
    assert outcome.content == "out\nerr\n[exit code 7]"
    assert (outcome.exit_code, outcome.is_error, outcome.touched) == (7, True, None)


async def test_says_so_when_there_is_no_output(use: Use) -> None:
    assert (await use("bash", command="true")).content == "(no output)\n[exit code 0]"


async def test_a_command_that_never_ends_is_stopped(use: Use, root: Path) -> None:
    started = time.monotonic()
    outcome = await use("bash", command="echo $$ > pid; echo before; sleep 300", timeout_ms=300)
    assert time.monotonic() - started < 100
    assert outcome.is_error and outcome.exit_code == 143
    assert "before" in outcome.content and "longer than 300 ms" in outcome.content
    assert not is_running(*pids(root / "pid"))


async def test_a_command_that_ignores_term_is_killed_with_its_children(use: Use, root: Path) -> None:
    command = "trap '' TERM; (echo $BASHPID >> pids; exec sleep 300) & echo $$ >> pids; while :; do sleep 1; done"
    outcome = await use("bash", command=command, timeout_ms=300)
    assert outcome.exit_code == 137
    assert len(pids(root / "pids")) == 2
    assert not [pid for pid in pids(root / "pids") if is_running(pid)]


@pytest.mark.parametrize("redirection", ["", ">/dev/null 2>&1"], ids=["holding the pipe", "with its own output"])
async def test_children_left_behind_do_not_hang_the_call_and_are_ended(use: Use, root: Path, redirection: str) -> None:
    started = time.monotonic()
    outcome = await use("bash", command=f"sleep 300 {redirection} & echo $! > pid; echo done")
    assert time.monotonic() - started < 100
    assert outcome.content == "done\n[exit code 0]"
    assert not is_running(*pids(root / "pid"))


_DAEMON = """
import os, sys, time, signal
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in (0, 1, 2): os.close(number)
open("p", "w").write(str(os.getpid())); os.rename("p", "pid")
time.sleep(300)
"""
DAEMONS = {
    "setsid": "setsid sh -c 'echo $$ > p; mv p pid; exec sleep 300' &",
    "without an environment": "env -i setsid /bin/sh -c 'echo $$ > p; /bin/mv p pid; exec /bin/sleep 300' &",
    "nohup": "nohup sh -c 'echo $$ > p; mv p pid; exec sleep 300' >/dev/null 2>&1 & disown",
    "forked twice, deaf to TERM": "python3 daemon.py",
    "below a daemon": "setsid sh -c '(setsid sh -c \"echo \\$\\$ > p; mv p pid; exec sleep 300\" &); exec sleep 300' &",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "daemon", ["forked twice, deaf to TERM", "below a daemon", *further("setsid", "without an environment", "nohup")]
)
@pytest.mark.parametrize("ending", ["echo done", "exec echo done", "kill -9 $$", "sleep 300"])
async def test_a_daemon_is_ended_with_its_command(use: Use, root: Path, daemon: str, ending: str) -> None:
    (root / "daemon.py").write_text(_DAEMON)
    timeout_ms = 1_500 if ending == "sleep 300" else 10_000
    wait = f"{DAEMONS[daemon]}\nuntil [ -e pid ]; do sleep 0.01; done; {ending}"
    outcome = await use("bash", command=wait, timeout_ms=timeout_ms)
    assert outcome.details["ending"] == ("timeout" if ending == "sleep 300" else "exit")
    assert not is_running(*pids(root / "pid"))


async def test_a_daemon_ends_with_its_own_command_only(toolbox: Toolbox, root: Path) -> None:
    def call(name: str, until: str) -> asyncio.Task[ToolOutcome]:
        daemon = f"env -i setsid /bin/sh -c 'echo $$ > {name}.p; /bin/mv {name}.p {name}; exec /bin/sleep 300' &"
        command = f"{daemon} until [ -e {until} ]; do sleep 0.01; done"
        return asyncio.create_task(
            toolbox.run("developer", ToolCall(id=name, name="bash", input={"command": command, "timeout_ms": 60_000}))
        )

    first, second = call("first", "first"), call("second", "over")
    await asyncio.wait_for(first, 180)
    await appears(root / "second")
    assert not is_running(*pids(root / "first"))
    assert is_running(*pids(root / "second"))
    (root / "over").touch()
    await asyncio.wait_for(second, 180)
    assert not is_running(*pids(root / "second"))


async def test_a_command_that_kills_its_parent_leaves_no_marked_process(use: Use, root: Path) -> None:
    outcome = await use("bash", command="setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 0.3; kill -9 $PPID; wait")
    assert outcome.exit_code == 137
    assert not is_running(*pids(root / "pid"))


async def test_a_signal_to_the_whole_group_is_the_commands_own(use: Use) -> None:
    outcome = await use("bash", command="trap 'echo told; exit 5' TERM; echo before; kill 0; sleep 1")
    assert (outcome.content, outcome.exit_code) == ("before\ntold\n[exit code 5]", 5)


async def test_a_long_grace_after_its_end_is_no_timeout(root: Path, state: Path) -> None:
    settings = BashSettings(grace_ms=700)
    toolbox = build_toolbox(root, state_dir=state, agents={"a": ToolAccess()}, assume_yes=True, bash=settings)
    command = "(trap '' TERM; touch up; while :; do sleep 0.1; done) & until [ -e up ]; do sleep 0.01; done; exit 3"
    call = ToolCall(id="1", name="bash", input={"command": command, "timeout_ms": 60_000})
    outcome = await toolbox.run("a", call)
    assert (outcome.exit_code, outcome.details["ending"]) == (3, "exit")


async def test_a_flood_is_stopped_and_bounded_on_disk_and_in_sight(use: Use, state: Path) -> None:
    outcome = await use("bash", command="yes flooding")
    assert outcome.is_error and "wrote more than 1.0 MB" in outcome.content
    assert len(outcome.content) < 40_000
    [file] = (state / "outputs").iterdir()
    assert file.stat().st_size == 1_000_000
    assert str(file) in outcome.content


async def test_old_outputs_make_room_for_new_ones(use: Use, state: Path) -> None:
    for _ in range(5):
        await use("bash", command="head -c 900000 /dev/zero")
    files = sorted((state / "outputs").iterdir())
    assert sum(file.stat().st_size for file in files) <= 3_000_000
    assert files[-1].name == "000005.log"


async def test_long_output_shows_both_ends_and_keeps_the_whole(use: Use, state: Path) -> None:
    outcome = await use("bash", command="seq 1 20000")
    assert outcome.content.startswith("1\n2\n3\n")
    assert "20000\n[exit code 0]" in outcome.content
    assert "left out; the whole output is in" in outcome.content
    whole = Path(outcome.details["output_file"])
    assert read(whole) == "".join(f"{n}\n" for n in range(1, 20001))
    assert (mode(whole), mode(state / "outputs")) == (0o600, 0o700)


async def test_the_folder_carries_over_and_nothing_else(use: Use, root: Path) -> None:
    (root / "a b").mkdir()
    moved = await use("bash", command="cd 'a b'; export LATER=1")
    assert "[folder is now a b]" in moved.content
    assert (await use("bash", command='pwd; echo "-$LATER-"')).content == f"{root}/a b\n--\n[exit code 0]"


@pytest.mark.parametrize(
    "ending",
    ["exit 3", "set -e; false", "set -eu; echo $nothing", "kill -TERM $$; sleep 1", "return 2>/dev/null; true"],
)
async def test_the_folder_carries_over_however_the_shell_ends(use: Use, root: Path, ending: str) -> None:
    (root / "sub").mkdir()
    await use("bash", command=f"cd sub\n{ending}")
    assert (await use("bash", command="pwd")).content.startswith(f"{root}/sub\n")


async def test_each_agent_has_a_folder_of_its_own(use: Use, root: Path) -> None:
    (root / "sub").mkdir()
    await use("bash", command="cd sub")
    assert (await use("bash", agent="tester", command="pwd")).content.startswith(f"{root}\n")


async def test_a_folder_that_is_gone_is_said(use: Use, root: Path) -> None:
    await use("bash", command="mkdir sub; cd sub")
    (root / "sub").rmdir()
    outcome = await use("bash", command="pwd")
    assert f"{root}\n" in outcome.content and "is gone" in outcome.content
    assert "(outside the workspace)" in (await use("bash", command="cd /")).content


async def test_an_open_quote_is_a_syntax_error_at_once(use: Use) -> None:
    outcome = await use("bash", command="echo 'open", timeout_ms=5_000)
    assert outcome.exit_code not in (0, 143)
    assert "line 1: unexpected EOF" in outcome.content


async def test_nothing_can_be_typed(use: Use) -> None:
    assert (await use("bash", command="cat; read x; echo $?")).content == "1\n[exit code 0]"


async def test_a_command_longer_than_an_argument_may_be(use: Use) -> None:
    text = "x" * 300_000
    outcome = await use("bash", command=f"cat > big <<'EOF'\n{text}\nEOF\nwc -c < big")
    assert outcome.content == "300001\n[exit code 0]"


async def test_undecodable_bytes_and_terminal_codes_are_made_plain(use: Use) -> None:
    command = r"printf '\033[31mred\033[0m \377 \033]0;title\007a\rb\000\b\n'"
    assert (await use("bash", command=command)).content == "red \ufffd a\nb\n[exit code 0]"


async def test_the_environment_is_an_allow_list(use: Use) -> None:
    lines = (await use("bash", command="env")).content.splitlines()
    names = {line.partition("=")[0] for line in lines}
    assert not {name for name in names if name.startswith(("ANTHROPIC", "AWS"))}
    assert "PYTHONDONTWRITEBYTECODE=1" in lines
    assert "PATH" in names


async def test_never_list_wins_over_configuration(root: Path, state: Path) -> None:
    settings = BashSettings(extra_env=("*",))
    environ = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "k", "BASH_ENV": "/x", "MINE": "1"}
    toolbox = build_toolbox(
        root, state_dir=state, agents={"a": ToolAccess()}, assume_yes=True, bash=settings, environ=environ
    )
    content = (await toolbox.run("a", ToolCall(id="1", name="bash", input={"command": "env"}))).content
    assert "MINE=1" in content
    assert "ANTHROPIC" not in content and "BASH_ENV" not in content


async def test_cancelling_kills_the_whole_group(toolbox: Toolbox, root: Path) -> None:
    command = "trap '' TERM; sleep 300 & echo $! > p; echo $$ >> p; mv p pids; while :; do sleep 1; done"
    running = asyncio.create_task(toolbox.run("developer", ToolCall(id="1", name="bash", input={"command": command})))
    await appears(root / "pids")
    members = pids(root / "pids")
    assert all(map(is_running, members))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not any(map(is_running, members))


async def test_a_second_cancel_cuts_the_grace_short(root: Path, state: Path) -> None:
    toolbox = build_toolbox(
        root,
        state_dir=state,
        agents={"a": ToolAccess()},
        assume_yes=True,
        bash=BashSettings(grace_ms=600_000),
    )
    command = "trap '' TERM; echo $$ > p; mv p pid; while :; do sleep 0.1; done"
    running = asyncio.create_task(toolbox.run("a", ToolCall(id="1", name="bash", input={"command": command})))
    await appears(root / "pid")
    running.cancel()
    await asyncio.sleep(0.05)
    assert not running.done()
    running.cancel()
    done, _ = await asyncio.wait([running], timeout=180)
    assert done and running.cancelled()
    assert not is_running(*pids(root / "pid"))


async def test_closing_the_toolbox_ends_what_runs(toolbox: Toolbox, root: Path) -> None:
    call = ToolCall(id="1", name="bash", input={"command": "echo $$ > p; mv p pid; sleep 900"})
    running = asyncio.create_task(toolbox.run("developer", call))
    await appears(root / "pid")
    await toolbox.aclose()
    outcome = await asyncio.wait_for(running, 180)
    assert outcome.exit_code == 137
    assert not is_running(*pids(root / "pid"))


async def test_an_unwritable_state_folder_is_the_tools_own_defect(root: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    toolbox = build_toolbox(root, state_dir=tmp_path / "state", agents={"a": ToolAccess()}, assume_yes=True)
    outcome = await toolbox.run("a", ToolCall(id="1", name="bash", input={"command": "true"}))
    assert outcome.is_error and outcome.is_broken and outcome.touched is None
    assert "bash is broken" in outcome.content
