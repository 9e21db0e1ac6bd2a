"""Commands that outlive their rawko are found by their notes and ended; nobody else's are."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from rawko.processes.family import has_living_member
from rawko.tools.base import Run
from rawko.tools.commands.bash import Bash, BashSettings
from rawko.tools.commands.leftovers import Leftovers
from rawko.tools.toolbox import build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall
from tests.cli.shell import is_running


@pytest.fixture
def sleeper() -> subprocess.Popen[bytes]:
    """A shell with a child, in a group of its own."""
    return subprocess.Popen(["bash", "-c", "sleep 300 & wait"], start_new_session=True)


@pytest.fixture
def gone() -> int:
    """The id of a process that has ended: a rawko that was killed."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def test_a_group_that_is_left_is_ended_with_its_children(
    tmp_path: Path, sleeper: subprocess.Popen[bytes], gone: int
) -> None:
    notes = tmp_path / "running"
    Leftovers(notes, owner=gone).note(sleeper.pid)
    children = psutil.Process(sleeper.pid).children()
    waiter = asyncio.new_event_loop()
    try:
        ended = waiter.run_until_complete(_reaped_meanwhile(Leftovers(notes), sleeper))
    finally:
        waiter.close()
    assert ended == (sleeper.pid,)
    assert not any(map(is_running, children))
    assert list(notes.iterdir()) == []
    assert Leftovers(notes).end_all() == ()


async def _reaped_meanwhile(leftovers: Leftovers, process: subprocess.Popen[bytes]) -> tuple[int, ...]:
    """Here the test is the parent, as init is after a crash: it has to fetch the dead."""
    ending = asyncio.create_task(asyncio.to_thread(leftovers.end_all))
    await asyncio.to_thread(process.wait)
    return await ending


def test_a_command_of_a_rawko_that_is_at_work_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes], gone: int
) -> None:
    """Two runs in one folder: one is resumed while the other one's command runs."""
    Leftovers(tmp_path).note(sleeper.pid)
    try:
        assert Leftovers(tmp_path).end_all() == ()
        assert sleeper.poll() is None
        assert (tmp_path / str(sleeper.pid)).exists(), "it is found should its rawko be killed later"
    finally:
        os.killpg(sleeper.pid, 9)
        sleeper.wait()


def test_an_id_that_belongs_to_somebody_else_now_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    leftovers = Leftovers(tmp_path)
    leftovers.note(sleeper.pid)
    (tmp_path / str(sleeper.pid)).write_text("1", encoding="ascii")
    try:
        assert leftovers.end_all() == ()
        assert sleeper.poll() is None
    finally:
        os.killpg(sleeper.pid, 9)
        sleeper.wait()


def test_what_is_no_note_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "readme").write_text("mine", encoding="utf-8")
    assert Leftovers(tmp_path).end_all() == ()
    assert (tmp_path / "readme").exists()
    assert Leftovers(tmp_path / "nowhere").end_all() == ()


def test_a_note_is_written_though_its_folder_was_removed_meanwhile(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    folder = tmp_path / "running"
    notes = Leftovers(folder)
    notes.note(sleeper.pid)
    shutil.rmtree(folder)
    notes.note(sleeper.pid)
    assert [path.name for path in folder.iterdir()] == [str(sleeper.pid)]
    assert stat.S_IMODE((folder / str(sleeper.pid)).stat().st_mode) == 0o600
    os.killpg(sleeper.pid, signal.SIGKILL)
    sleeper.wait()


def test_our_own_group_is_never_ended(tmp_path: Path) -> None:
    (tmp_path / str(os.getpgrp())).write_text("", encoding="ascii")
    (tmp_path / "1").write_text("", encoding="ascii")
    assert Leftovers(tmp_path).end_all() == ()


async def test_a_command_does_not_begin_before_its_note_is_on_disk(tmp_path: Path) -> None:
    """On a slow disk, too: until then nothing of the command has happened."""
    workspace, notes = tmp_path / "w", tmp_path / "notes"
    workspace.mkdir()

    class SlowNotes(Leftovers):
        def note(self, group: int, mark: str = "") -> None:
            seen.append((workspace / "done").exists())
            time.sleep(0.3)
            seen.append((workspace / "done").exists())
            super().note(group, mark)

    seen: list[bool] = []
    tool = Bash(
        workspace,
        outputs=tmp_path / "out",
        leftovers=SlowNotes(notes),
        env={"PATH": os.environ["PATH"]},
        settings=BashSettings(),
    )
    outcome = await tool.run(Run("a", {"command": "touch done; pwd"}))
    assert seen == [False, False]
    assert (workspace / "done").exists()
    assert str(workspace) in outcome.content


_KILLED_BEFORE_THE_NOTE = """
import asyncio, os, signal, sys
from pathlib import Path
from rawko.tools.base import Run
from rawko.tools.commands.bash import Bash, BashSettings
from rawko.tools.base import Run
from rawko.tools.commands.bash import Bash, BashSettings
from rawko.tools.commands.leftovers import Leftovers

class Killed(Leftovers):
    def note(self, group, mark):
        print(group, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

base = Path(sys.argv[1])
tool = Bash(base, outputs=base / "out", leftovers=Killed(base), env=dict(os.environ), settings=BashSettings())
asyncio.run(tool.run(Run("a", {"command": "touch done; sleep 300"})))
"""


def test_a_rawko_that_is_killed_before_the_note_leaves_nothing_behind(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED_BEFORE_THE_NOTE, str(tmp_path)], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    group = int(killed.stdout)
    until = time.monotonic() + 10
    while has_living_member(group) and time.monotonic() < until:
        time.sleep(0.01)
    assert not has_living_member(group)
    assert not (tmp_path / "done").exists()


async def test_a_command_is_noted_while_it_runs(tmp_path: Path) -> None:
    workspace, state = tmp_path / "w", tmp_path / "s"
    workspace.mkdir()
    toolbox = build_toolbox(workspace, state_dir=state, agents={"a": ToolAccess()}, assume_yes=True)
    command = f"ls {state / 'running'}; {sys.executable} -c pass"
    outcome = await toolbox.run("a", ToolCall(id="1", name="bash", input={"command": command}))
    noted = outcome.content.splitlines()[0]
    assert noted.isdigit()
    assert list((state / "running").iterdir()) == []
    await toolbox.aclose()


_KILLED_AT_WORK = """
import asyncio, os, sys
from pathlib import Path
from rawko.tools.base import Run
from rawko.tools.commands.bash import Bash, BashSettings
from rawko.tools.commands.leftovers import Leftovers

base = Path(sys.argv[1])
settings = BashSettings(grace_ms=int(sys.argv[2]))
tool = Bash(base, outputs=base / "out", leftovers=Leftovers(base / "notes"), env=dict(os.environ), settings=settings)
daemon = "env -i setsid /bin/sh -c 'trap : TERM; echo $$ > p; /bin/mv p daemon; while :; do /bin/sleep 0.1; done' &"
asyncio.run(tool.run(Run("a", {"command": f"trap '' TERM; {daemon} echo $$ > q; mv q shell; wait"})))
"""


@pytest.fixture
def killed_at_work(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, list[int]]:
    """The folder of a rawko that was killed, and its command's processes: a shell and its daemon, both deaf to TERM."""
    with subprocess.Popen([sys.executable, "-c", _KILLED_AT_WORK, str(tmp_path), str(request.param)]) as process:
        until = time.monotonic() + 60
        while not ((tmp_path / "daemon").exists() and (tmp_path / "shell").exists()):
            assert time.monotonic() < until
            time.sleep(0.01)
        process.kill()
    return tmp_path, [int((tmp_path / name).read_text()) for name in ("daemon", "shell")]


@pytest.mark.skipif(sys.platform != "linux", reason="daemons are followed on Linux")
@pytest.mark.parametrize("killed_at_work", [100], indirect=True)
def test_the_command_of_a_rawko_that_is_killed_ends_with_its_daemons(killed_at_work: tuple[Path, list[int]]) -> None:
    _, processes = killed_at_work
    assert_gone(processes)


@pytest.mark.skipif(sys.platform != "linux", reason="daemons are followed on Linux")
@pytest.mark.parametrize("killed_at_work", [600_000], indirect=True)
def test_a_daemon_that_is_left_is_found_below_the_noted_process(killed_at_work: tuple[Path, list[int]]) -> None:
    folder, processes = killed_at_work
    assert all(psutil.pid_exists(process) for process in processes)
    assert len(Leftovers(folder / "notes").end_all()) == 1
    assert_gone(processes)


@pytest.mark.skipif(sys.platform != "linux", reason="marks are read in /proc")
@pytest.mark.parametrize("killed_at_work", [600_000], indirect=True)
def test_what_is_left_is_found_by_its_mark_where_its_parent_was_killed_too(
    killed_at_work: tuple[Path, list[int]],
) -> None:
    folder, (daemon, shell) = killed_at_work
    [noted] = (folder / "notes").iterdir()
    os.kill(int(noted.name), signal.SIGKILL)
    assert_gone([int(noted.name)])  # else the daemon is found below it
    assert Leftovers(folder / "notes").end_all() == (int(noted.name),)
    assert_gone([shell])
    os.kill(daemon, signal.SIGKILL)  # it has emptied its environment, and its ancestors are gone


def assert_gone(processes: list[int]) -> None:
    """Killed processes end when the system next runs them: on a busy machine that takes seconds."""
    until = time.monotonic() + 120
    while any(process.pid in processes and is_running(process) for process in psutil.process_iter()):
        assert time.monotonic() < until
        time.sleep(0.02)
