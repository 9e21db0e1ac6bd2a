"""Runs one command, and ensures that none of its descendants runs afterwards.

A supervisor (`rawko.processes.launcher`) starts the command, reports its end, and ends the remaining descendants: TERM,
grace, KILL, also for a process that has started a session of its own (setsid, a daemon). A child that holds the output
pipe open delays the end by no more than that. If rawko is killed, the supervisor notices and ends the command.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal
from uuid import uuid4

from rawko.processes import family
from rawko.processes.launching import supervised

Ending = Literal["exit", "timeout", "flood"]

MARK = "RAWKO_COMMAND"
"""The variable by which a command's processes are found if their supervisor was killed."""
_CHUNK_BYTES = 65_536
_DRAIN_S = 0.2
_GONE_S = 10.0
"""How long the system may take to complete a KILL."""


async def _until(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, so long at most."""
    if not event.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()


class Group:
    """A running command.

    Args:
        on_output: Called with each piece of output (both streams, in order); True stops the command.
        grace_ms: Between TERM and KILL.

    Attributes:
        id: Of the supervisor, from which all of the command's processes descend.

    Raises:
        OSError: The command cannot be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        pass_fds: Sequence[int],
        on_output: Callable[[bytes], bool],
        grace_ms: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_output, self._grace_s = on_output, grace_ms / 1000
        self._is_flooded = False
        self._code: int | None = None
        self._woken, self._closed, self._gone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.mark = f"{MARK}={uuid4().hex}"
        self._control, theirs = socket.socketpair()
        self._read_fd, write_fd = os.pipe()
        try:
            self._control.setblocking(False)
            os.set_blocking(self._read_fd, False)
            self._process = subprocess.Popen(
                supervised(argv, theirs.fileno(), grace_ms),
                cwd=cwd,
                env=dict(env) | dict([self.mark.split("=")]),
                stdin=subprocess.DEVNULL,
                stdout=write_fd,
                stderr=write_fd,
                pass_fds=(*pass_fds, theirs.fileno()),
                start_new_session=True,
            )
        except BaseException:
            os.close(self._read_fd)
            self._control.close()
            raise
        finally:
            os.close(write_fd)
            theirs.close()
        self.id = self._process.pid
        self._loop.add_reader(self._read_fd, self._read)
        self._loop.add_reader(self._control, self._hear)

    async def finish(self, timeout_ms: int) -> tuple[Ending, int]:
        """Wait until the command has ended, and end it at the timeout; afterwards none of its processes runs.

        A cancellation also ends the command, before the cancellation continues.

        Returns:
            How it ended, and the exit code as a shell reports it (128 + signal).
        """
        ending: Ending = "timeout"
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._woken.wait()
                ending = "flood" if self._is_flooded and self._code is None else "exit"
        except TimeoutError:
            pass
        finally:
            await self._end()
        return ending, 128 + signal.SIGKILL if self._code is None else self._code

    def kill(self) -> None:
        """KILL at once; `finish` returns when no process is left."""
        self._say(b"k")

    async def _end(self) -> None:
        """TERM, grace, KILL; a cancellation meanwhile shortens the grace, but never skips the KILL."""
        try:
            self._say(b"t")
            await _until(self._gone, self._grace_s + _GONE_S)
        finally:
            try:
                if not self._gone.is_set():
                    self._say(b"k")
                    await _until(self._gone, _GONE_S)
                await _until(self._closed, _DRAIN_S)
            finally:
                self._close()
                self._reap()

    def _say(self, word: bytes) -> None:
        with suppress(OSError):  # all processes have ended, and the supervisor closed the socket
            self._control.send(word)

    def _hear(self) -> None:
        """Read the command's exit code, then the end of the supervisor."""
        try:
            told = self._control.recv(64)
        except BlockingIOError:
            return
        except OSError:
            told = b""
        if told:
            self._code = int(told)
        else:
            self._loop.remove_reader(self._control)
            self._gone.set()
        self._woken.set()

    def _reap(self) -> None:
        if self._gone.is_set():
            self._control.close()
            if self._code is None:  # the supervisor itself was killed, and could not end the command
                family.end(self.mark)
        else:
            family.end(self.mark, ancestor=self.id)
            self._loop.remove_reader(self._control)
            self._control.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_GONE_S)
        if self._process.returncode is None:
            # Killed, but still inside a system call: waiting for it would block the event loop.
            self._process.returncode = -signal.SIGKILL

    def _read(self) -> None:
        try:
            data = os.read(self._read_fd, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close()
        elif self._on_output(data):
            self._is_flooded = True
            self._woken.set()

    def _close(self) -> None:
        if self._read_fd >= 0:
            self._loop.remove_reader(self._read_fd)
            os.close(self._read_fd)
            self._read_fd = -1
        self._closed.set()
