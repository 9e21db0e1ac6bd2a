"""One process with a session and process group of its own, and the certainty that all of the group is gone.

Ended means: TERM to the group, a grace, KILL to the group. Also after a normal end, because a command may leave
children behind; and the output pipe that these may still hold open is never waited for longer than that.
A process that makes itself a session of its own (setsid, a daemon) has left the group and is not followed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

Ending = Literal["exit", "timeout", "flood"]

_CHUNK_BYTES = 65_536
_POLL_S = 0.01
_DRAIN_S = 0.2
_GONE_S = 1.0


class Group:
    """A running command.

    Args:
        on_output: Called with each piece of output (both streams, in order); True asks for the command to be stopped.
        grace_ms: Between TERM and KILL.

    Raises:
        OSError: It cannot be started.
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
        self._woken = asyncio.Event()
        self._closed = asyncio.Event()
        self._read_fd, write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        try:
            self._process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=write_fd,
                stderr=write_fd,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._read_fd)
            raise
        finally:
            os.close(write_fd)
        self.id = self._process.pid
        self._loop.add_reader(self._read_fd, self._read)

    async def finish(self, timeout_ms: int) -> tuple[Ending, int]:
        """Wait for the end, or bring it about; afterwards nothing of the group runs.

        Cancelling brings it about too: the group is stopped before the cancellation goes on.

        Returns:
            How it ended, and the exit code as a shell tells it (128 + signal).
        """
        ending: Ending = "timeout"
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                ending = await self._ended()
        except TimeoutError:
            pass
        finally:
            await self._end()
        code = self._process.returncode
        return ending, 128 - code if code < 0 else code

    async def _ended(self) -> Ending:
        # The end of the output wakes us at the end of most commands; a command whose children hold the pipe, or that
        # closed it itself, is found by looking.
        while self._process.poll() is None:
            if self._is_flooded:
                return "flood"
            if self._woken.is_set():
                await asyncio.sleep(_POLL_S / 5)
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), 2 * _POLL_S)
        return "exit"

    def kill(self) -> None:
        """KILL at once; whoever waits in `finish` sees the end."""
        self._signal(signal.SIGKILL)

    async def _end(self) -> None:
        """TERM, grace, KILL; a cancellation in the middle cuts the grace short, never the KILL."""
        try:
            if self._signal(signal.SIGTERM):
                await self._gone(self._grace_s)
        finally:
            is_left = self._signal(signal.SIGKILL)
            try:
                if is_left:
                    await self._gone(_GONE_S)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closed.wait(), _DRAIN_S)
            finally:
                self._close()
                self._reap()

    async def _gone(self, seconds: float) -> None:
        """Wait until no process of the group is left, at most so long."""
        until = self._loop.time() + seconds
        while self._loop.time() < until:
            self._process.poll()
            if not self._signal(0) or not has_living_member(self.id):
                return
            await asyncio.sleep(_POLL_S)

    def _signal(self, number: int) -> bool:
        """False if nobody of the group is there any more.

        The group's id cannot belong to somebody else: it is taken while any member lives, and once none does, the
        kernel hands out every other id before it comes round to this one.
        """
        try:
            os.killpg(self.id, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            # macOS says so of a group of zombies; elsewhere a member changed its user and is out of reach.
            return number != 0
        return True

    def _reap(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_GONE_S)
        if self._process.returncode is None:
            # Killed, but held inside the kernel: it cannot be waited for without blocking everything.
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
        self._woken.set()


def has_living_member(group: int) -> bool:
    """Whether a member is more than a zombie. The kernel still counts those, and the init of a container may never
    reap them. Where there is no /proc to look into, somebody is taken to live."""
    try:
        processes = [entry.name for entry in os.scandir("/proc") if entry.name.isdecimal()]
    except OSError:
        return True
    return not processes or any(_lives_in(group, process) for process in processes)


def _lives_in(group: int, process: str) -> bool:
    try:
        stat = Path("/proc", process, "stat").read_bytes()
    except OSError:
        return False
    # The name in parentheses may hold anything; behind it: state, parent, group.
    state, _, member_of, *_ = stat.rpartition(b")")[2].split()
    return int(member_of) == group and state not in (b"Z", b"X")
