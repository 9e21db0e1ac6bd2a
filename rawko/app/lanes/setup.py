"""Runs the command that prepares a lane's folder, once before its agent, with limits of time and output."""

from __future__ import annotations

import shutil
from collections import deque
from pathlib import Path
from typing import Final

from rawko.config import ConfigError, Settings
from rawko.processes.private import make_private
from rawko.tools.commands.environment import command_environment
from rawko.tools.commands.leftovers import Leftovers
from rawko.tools.commands.process_group import Group
from rawko.tools.text import visible

MAX_OUTPUT_BYTES: Final = 16_000_000
"""Most output of the command; a command that writes more is stopped."""
SHOWN_BYTES: Final = 2_000
"""Bytes of the end of its output that an error message shows."""
_GRACE_MS: Final = 2_000


class SetupFailed(Exception):
    """The setup command failed; the message says how, with the end of its output."""


async def run_setup(settings: Settings, command: str, *, timeout_ms: int, running: Path) -> None:
    """Run the command in the settings' workspace, with the environment of agents' commands, but without a sandbox.

    Args:
        running: Folder for a note of the process, by which it is ended after a crash.

    Raises:
        SetupFailed: The command failed, took too long, or wrote too much.
        ConfigError: The command cannot be started.
    """
    environ = command_environment(settings.environ, settings.bash.extra_env) | dict(settings.command_env)
    bash = shutil.which("bash", path=environ.get("PATH")) or shutil.which("bash")
    if bash is None:
        raise ConfigError("bash is not installed on this machine")
    end = _End()
    leftovers = Leftovers(running)
    try:
        if "TMPDIR" in settings.command_env:
            make_private(Path(environ["TMPDIR"]))
        group = Group(
            [bash, "--noprofile", "--norc", "-c", command],
            cwd=str(settings.workspace),
            env=environ,
            pass_fds=(),
            on_output=end.add,
            grace_ms=_GRACE_MS,
        )
    except OSError as error:
        raise ConfigError(f"the setup command cannot be started: {error}") from error
    leftovers.note(group.id, group.mark)
    try:
        ending, code = await group.finish(timeout_ms)
    finally:
        leftovers.forget(group.id)
    if ending == "exit" and code == 0:
        return
    why = {
        "exit": f"failed with exit code {code}",
        "timeout": f"was stopped after {timeout_ms / 1000:g} s",
        "flood": f"was stopped after more than {MAX_OUTPUT_BYTES // 1_000_000} MB of output",
    }[ending]
    told = end.text()
    raise SetupFailed(f"the setup command {command!r:.200} {why}" + (f"; its output ends:\n{told}" if told else ""))


class _End:
    """Stores the end of an output."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._kept = self._all = 0

    def add(self, data: bytes) -> bool:
        """Take the next piece; returns True once there is too much output."""
        self._pieces.append(data)
        self._kept += len(data)
        self._all += len(data)
        while self._kept - len(self._pieces[0]) >= SHOWN_BYTES:
            self._kept -= len(self._pieces.popleft())
        return self._all > MAX_OUTPUT_BYTES

    def text(self) -> str:
        """The stored bytes as text that a terminal can show."""
        return visible(b"".join(self._pieces)[-SHOWN_BYTES:].decode("utf-8", "replace")).strip()
