"""What a command in the sandbox can and cannot do, tried with a real bubblewrap."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest

from rawko.runtime.ports import ToolOutcome
from rawko.tools.commands.bash import BashSettings
from rawko.tools.sandbox import SandboxError, find_sandbox
from rawko.tools.toolbox import Tools, build_toolbox
from rawko.vocabulary.agent import ToolAccess
from rawko.vocabulary.messages import ToolCall
from tests.tools.sandbox.needs_sandbox import needs_sandbox

Use = Callable[..., Awaitable[ToolOutcome]]


@pytest.fixture
def confined(root: Path, state: Path) -> Tools:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    (root / ".rawko").mkdir()
    (root / "vendor" / "lib" / ".git" / "hooks").mkdir(parents=True)
    (root / "vendor" / "sub").mkdir()
    (root / "vendor" / "sub" / ".git").write_text("gitdir: ../../.git/modules/sub\n")
    state.mkdir()
    (state / "journal.db").write_text("rows")
    return build_toolbox(
        root,
        state_dir=state,
        agents={"dev": ToolAccess()},
        assume_yes=True,
        is_confined=True,
        bash=BashSettings(default_timeout_ms=20_000, grace_ms=300),
        environ={"PATH": os.environ["PATH"], "HOME": "/root", "ANTHROPIC_API_KEY": "sk-secret", "A_TOKEN": "t-secret"},
    )


@pytest.fixture
def bash(confined: Tools) -> Use:
    numbers = count(1)

    async def run(command: str, **arguments: Any) -> ToolOutcome:
        call = ToolCall(id=f"c{next(numbers)}", name="bash", input={"command": command, **arguments})
        return await confined.run("dev", call)

    return run


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        yield listening


@needs_sandbox
async def test_the_workspace_is_writable_and_the_folder_carries_over(bash: Use, root: Path) -> None:
    done = await bash("mkdir src && cd src && echo hi > a.txt && cat a.txt && pwd; exit 3")
    assert done.exit_code == 3
    assert f"hi\n{root}/src\n" in done.content
    assert (root / "src" / "a.txt").read_text() == "hi\n"
    assert (await bash("pwd")).content.startswith(f"{root}/src\n")
    assert (await bash("cat /etc/hostname >/dev/null; ls / | head -1")).exit_code == 0


@needs_sandbox
@pytest.mark.parametrize(
    "command",
    [
        "echo x > /etc/rawko-was-here",
        "echo x > {outside}/file",
        "echo x > {home}/.bashrc-rawko",
        "ln -s {outside} door && echo x > door/file",
        "ln -s / all && touch all{outside}/file",
        "touch /proc/self/root{outside}/file",
        "echo x > {state}/journal.db",
        "rm -rf {state}",
        "echo '#!/bin/sh' > .git/hooks/post-checkout",
        "echo x > vendor/lib/.git/hooks/pre-commit",
        "mv vendor gone && echo x > gone/lib/.git/hooks/pre-commit",
        "echo 'gitdir: /tmp/mine' > vendor/sub/.git",
        "mv .git gone",
        "rm -rf .git",
        "mv .rawko gone",
        "echo 'rules: [allow *]' > .rawko/config.yaml",
        "mount -o remount,rw / && echo x > /etc/rawko-was-here",
        "mount -o remount,rw,bind {state} && echo x > {state}/journal.db",
        "umount {root}/.git && echo x > .git/config",
        "unshare -Urm sh -c 'mount -o remount,rw,bind / && echo x > /etc/rawko-was-here'",
        "unshare -Urm sh -c 'umount .git && echo x > .git/config'",
        "nsenter -t 1 -m sh -c 'echo x > {outside}/file'",
        "chroot /proc/1/root sh -c 'echo x > {outside}/file'",
        "mknod disk b 8 0",
    ],
)
async def test_nothing_else_can_be_written(bash: Use, root: Path, state: Path, tmp_path: Path, command: str) -> None:
    # Not below /tmp, where a command has a folder of its own.
    outside = Path.cwd() / ".cache" / f"sandbox-test-{os.getpid()}"
    outside.mkdir(parents=True, exist_ok=True)
    try:
        text = command.format(outside=outside, home=Path.home(), state=state, root=root)
        done = await bash(text)
        assert done.exit_code != 0, done.content
        assert list(outside.iterdir()) == []
    finally:
        shutil.rmtree(outside)
    assert not is_there("/etc/rawko-was-here")
    assert not is_there(str(Path.home() / ".bashrc-rawko"))
    assert (state / "journal.db").read_text() == "rows"
    assert (root / ".git" / "config").read_text() == "[core]\n"
    assert sorted(path.name for path in (root / ".git" / "hooks").iterdir()) == []
    assert list((root / ".rawko").iterdir()) == []
    assert [sub.read_text() for sub in found(root, "*/sub/.git")] == ["gitdir: ../../.git/modules/sub\n"]
    assert found(root, "*/lib/.git/hooks/*") == []


@needs_sandbox
async def test_a_repository_that_was_moved_is_guarded_where_it_is_now(bash: Use, root: Path) -> None:
    assert (await bash("mv vendor gone; mkdir new; cd new")).exit_code == 0
    assert (await bash("echo x > ../gone/lib/.git/hooks/pre-commit")).exit_code != 0
    assert list((root / "gone" / "lib" / ".git" / "hooks").iterdir()) == []


@needs_sandbox
async def test_a_repository_behind_a_link_is_guarded_where_it_is(bash: Use, root: Path) -> None:
    for name, target in {"a": "../kept", "b": "/etc", "c": "nowhere", "d": ".."}.items():
        (root / name).mkdir()
        (root / name / ".git").symlink_to(target)
    (root / "kept").mkdir()
    assert (await bash("echo x > kept/config")).exit_code != 0
    assert (await bash("echo x > d/file; cat d/file")).content.startswith("x\n")


@needs_sandbox
async def test_temporary_files_are_private_and_gone_with_the_command(bash: Use, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("private")
    assert (await bash(f"cat {tmp_path}/mine")).exit_code != 0
    assert (await bash("echo x > /tmp/rawko-left; ls /tmp; mktemp")).exit_code == 0
    assert "rawko-left" not in os.listdir("/tmp")  # noqa: PTH208
    assert "rawko-left" not in (await bash("ls /tmp")).content


@needs_sandbox
async def test_there_is_no_network(bash: Use, server: socket.socket, tmp_path: Path) -> None:
    host, port = server.getsockname()
    program = f"import socket; socket.create_connection(('{host}', {port}), timeout=2)"
    done = await bash(f'{sys.executable} -c "{program}"')
    assert "ConnectionRefusedError" in done.content
    with pytest.raises(BlockingIOError):
        server.accept()
    with socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as named:
        abstract.bind(f"\0rawko-{os.getpid()}")
        abstract.listen()
        named.bind(str(tmp_path / "s"))
        named.listen()
        for address in (f"\\0rawko-{os.getpid()}", str(tmp_path / "s")):
            program = f"import socket; socket.socket(socket.AF_UNIX).connect('{address}')"
            done = await bash(f'{sys.executable} -c "{program}"')
            assert "Error" in done.content, address


@needs_sandbox
async def test_other_processes_cannot_be_seen_read_or_stopped(bash: Use) -> None:
    with subprocess.Popen(["sleep", "100"]) as other:  # noqa: ASYNC220
        try:
            assert (await bash(f"kill -9 {other.pid}")).exit_code != 0
            assert (await bash(f"kill -9 {os.getpid()}; kill -9 $PPID; true")).exit_code in (0, 137)
            assert (await bash("kill -9 -1; true")).exit_code in (0, 137)
            assert other.poll() is None
            seen = await bash("ls -d /proc/[0-9]* | wc -l")
            assert int(seen.content.split()[0]) < 10
            environs = await bash("cat /proc/[0-9]*/environ | tr '\\0' '\\n'; env")
            assert "secret" not in environs.content
            assert "PATH=" in environs.content
            if shutil.which("gdb") or shutil.which("strace"):
                assert (await bash(f"strace -p {other.pid} -o /tmp/x")).exit_code != 0
        finally:
            other.kill()


@needs_sandbox
async def test_nothing_that_a_command_starts_outlives_it(bash: Use, root: Path) -> None:
    mark = f"9{os.getpid()}{time.time_ns() % 10_000}"
    daemon = f"setsid nohup sh -c 'echo up > up; sleep {mark}' >/dev/null 2>&1 & while [ ! -e up ]; do sleep 0.01; done"
    assert (await bash(daemon)).exit_code == 0
    assert (root / "up").exists()
    until = time.monotonic() + 120
    while any(mark in " ".join(_command_line(one)) for one in psutil.process_iter()):
        assert time.monotonic() < until, "the daemon lives on"
        await asyncio.sleep(0.05)


@needs_sandbox
async def test_time_and_cancelling_end_everything_inside(bash: Use) -> None:
    mark = f"8{os.getpid()}{time.time_ns() % 10_000}"
    done = await bash(f"setsid sleep {mark} & trap '' TERM; sleep {mark}", timeout_ms=700)
    assert "ran longer than 700 ms" in done.content
    task = asyncio.ensure_future(bash(f"sleep {mark}"))
    until = time.monotonic() + 120
    while not any(_command_line(one)[:2] == ["sleep", mark] for one in psutil.process_iter()):
        assert time.monotonic() < until
        await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    until = time.monotonic() + 120
    while any(mark in " ".join(_command_line(one)) for one in psutil.process_iter()):
        assert time.monotonic() < until
        await asyncio.sleep(0.05)


@needs_sandbox
async def test_searches_run_inside_too_and_find_what_is_there(confined: Tools, root: Path) -> None:
    (root / "a.py").write_text("needle\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "b.log").write_text("needle\n")
    found = await confined.run("dev", ToolCall(id="g", name="grep", input={"pattern": "need"}))
    assert found.content == "a.py:1:needle"
    listed = await confined.run("dev", ToolCall(id="h", name="glob", input={"pattern": "*.py"}))
    assert listed.content == "a.py"


@needs_sandbox
async def test_long_output_can_be_read_back(bash: Use) -> None:
    done = await bash("seq 1 40000")
    kept = str(done.details["output_file"])
    assert kept in done.content
    assert (await bash(f"tail -1 {kept}")).content.startswith("40000\n")


@needs_sandbox
async def test_the_model_is_told(confined: Tools) -> None:
    (spec,) = (spec for spec in confined.specs("dev") if spec.name == "bash")
    assert "It runs in a sandbox" in spec.description


def test_without_bubblewrap_it_is_told_before_anything_runs(root: Path, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="needs bubblewrap"):
        find_sandbox(root, path=str(tmp_path))
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    if sys.platform == "linux":
        with pytest.raises(SandboxError, match="cannot put up a sandbox here: bwrap: No permissions"):
            find_sandbox(root, path=str(tmp_path))


def found(root: Path, pattern: str) -> list[Path]:
    return list(root.glob(pattern))


def is_there(path: str) -> bool:
    return os.path.lexists(path)


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return [] if process.status() == psutil.STATUS_ZOMBIE else process.cmdline()
    except psutil.Error:
        return []
