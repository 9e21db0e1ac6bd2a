"""Runs a program in a new session, on a pseudo-terminal that is its controlling terminal.

Output is passed on as it arrives, in small pieces, so that a program with much output waits for us, and other tasks of
the event loop run meanwhile. Input is written as fast as the program reads it.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from rawko.machines.node_engine.explore.ports import TerminalError
from rawko.processes import family

CHUNK_BYTES: Final = 8_192
PAUSE_FROM_S: Final = 0.002
"""If handling output takes longer, reading pauses as long, so that other tasks of the event loop run."""
GRACE_S: Final = 0.5
"""Wait between HUP and TERM, and between TERM and KILL."""
WRITE_TIMEOUT_S: Final = 5.0
_POLL_S: Final = 0.01
_LOOK_S: Final = 0.05
"""Wait between two checks that cost more than a signal: for living family members, for a terminal opened again."""
MARK: Final = "RAWKO_EXPLORATION"
"""The variable by which all processes that a program starts are found."""
_LAUNCHER: Final = Path(__file__).with_name("launcher.py")


def marked(run: str) -> str:
    """The mark of an exploration, in the form of `rawko.processes.family`."""
    return f"{MARK}={run}"


class PtyProcess:
    """A running program; made by `start`.

    Attributes:
        pid: The program's process id; it leads its session and process group.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        master: int,
        name: str,
        mark: str,
        on_output: Callable[[bytes], None],
        write_timeout_s: float,
    ) -> None:
        self._process = process
        self._master = master
        self._name = name
        self._mark = marked(mark)
        self._on_output = on_output
        self._write_timeout_s = write_timeout_s
        self._is_closed_by_program = False
        self._ended_at: float | None = None
        self._loop = asyncio.get_running_loop()
        self.pid = process.pid
        os.set_blocking(master, False)
        self._loop.add_reader(master, self._read)

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        size: tuple[int, int],
        mark: str,
        on_output: Callable[[bytes], None],
        write_timeout_s: float = WRITE_TIMEOUT_S,
    ) -> PtyProcess:
        """Start a program.

        Args:
            size: (columns, lines).
            mark: Identifies all processes that the program starts; unique.
            on_output: Called with each piece of output.
            write_timeout_s: How long a program may leave typed input unread.

        Raises:
            TerminalError: The program cannot be executed, or no pseudo-terminal is available.
        """
        process, master, report, name = _start(command, cwd, {**env, MARK: mark}, size)
        started = cls(process, master, name, mark, on_output, write_timeout_s)
        try:
            await started._require_executed(report, command[0])
        except BaseException:
            await started.close()
            raise
        return started

    async def _require_executed(self, read: int, name: str) -> None:
        """Wait for the program's execution, which closes the pipe; a number in the pipe is the errno of a failure."""
        with os.fdopen(read, "rb") as pipe:
            told = await asyncio.to_thread(pipe.read)
        if told:
            number = int(told)
            words = os.strerror(number).lower()
            raise TerminalError(
                f"{name!r} cannot be executed: {words}", is_retryable=number in (errno.EAGAIN, errno.ETXTBSY)
            )

    # ------------------------------------------------------------ out

    def _read(self) -> None:
        try:
            data = os.read(self._master, CHUNK_BYTES)
        except BlockingIOError:
            self._is_closed_by_program = False
            return
        except OSError:  # on Linux: no process holds the terminal open
            data = b""
        if not data:
            self._handle_closed()
            return
        self._is_closed_by_program = False
        started = self._loop.time()
        self._on_output(data)
        elapsed = self._loop.time() - started
        if elapsed > PAUSE_FROM_S:
            self._loop.remove_reader(self._master)
            self._loop.call_later(elapsed, self._resume_reading)

    def _handle_closed(self) -> None:
        """No process holds the terminal open. If the program still runs, it may open it again: keep our end open."""
        self._is_closed_by_program = True
        if self._process.poll() is not None:
            self._hang_up()
            return
        self._loop.remove_reader(self._master)
        self._loop.call_later(_LOOK_S, self._resume_reading)

    def _resume_reading(self) -> None:
        if self._master >= 0:
            self._loop.add_reader(self._master, self._read)

    @property
    def is_hung_up(self) -> bool:
        """Whether no process holds the terminal open any more, so that no more output will come."""
        return self._master < 0

    def _hang_up(self) -> None:
        if self._master >= 0:
            self._loop.remove_reader(self._master)
            os.close(self._master)
            self._master = -1

    # ------------------------------------------------------------ in

    async def write(self, data: bytes) -> None:
        """Write typed input.

        Raises:
            TerminalError: The terminal is closed, or the program does not read earlier input.
        """
        until = self._loop.time() + self._write_timeout_s
        while data:
            written = self._write(data)
            data = data[written:]
            if written:
                until = self._loop.time() + self._write_timeout_s
            elif self._loop.time() > until:
                raise TerminalError(
                    f"the program reads no input: {len(data)} bytes were left after {self._write_timeout_s:g} s"
                )
            else:
                await asyncio.sleep(_POLL_S)

    async def until_read(self, timeout_s: float) -> None:
        """Wait until the program has read the input, at most `timeout_s`: one that reads lines may not."""
        until = self._loop.time() + timeout_s
        while self._unread() and self._loop.time() < until:  # noqa: ASYNC110 - there is no event for this
            await asyncio.sleep(_POLL_S)

    def _unread(self) -> int:
        """Bytes of typed input that the program has not read."""
        if self._master < 0:
            return 0
        try:
            other = os.open(self._name, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return 0
        try:
            return int(struct.unpack("i", fcntl.ioctl(other, termios.FIONREAD, b"\0" * 4))[0])
        finally:
            os.close(other)

    def _write(self, data: bytes) -> int:
        if self._master < 0:
            raise TerminalError("the terminal is closed")
        if self._is_closed_by_program:
            raise TerminalError("the program has closed its terminal: no input can be typed")
        try:
            return os.write(self._master, data[:CHUNK_BYTES])
        except BlockingIOError:
            return 0
        except OSError as error:
            raise TerminalError(f"the terminal is closed: {error.strerror}") from error

    def answer(self, data: bytes) -> None:
        """Write an automatic answer of the terminal; dropped if the program does not read."""
        with suppress(TerminalError):
            self._write(data)

    def resize(self, size: tuple[int, int]) -> None:
        """Set the size of the terminal, (columns, lines), and inform the program."""
        if self._master >= 0:
            set_size(self._master, size)

    # ------------------------------------------------------------ the end

    @property
    def exit_status(self) -> int | None:
        """As a shell reports it: 128 + signal; None while it runs."""
        code = self._process.poll()
        return None if code is None else 128 - code if code < 0 else code

    @property
    def ended_s(self) -> float:
        """Seconds since the program's end was noticed; 0 while it runs."""
        if self.exit_status is None:
            return 0.0
        if self._ended_at is None:
            self._ended_at = self._loop.time()
        return self._loop.time() - self._ended_at

    async def close(self) -> int | None:
        """Send HUP, TERM, KILL to all processes of the program, each after a grace; returns the exit status."""
        groups, session = self._groups(), self._session()
        try:
            for number in (signal.SIGHUP, signal.SIGTERM):
                if not self._signal_all(groups, session, number):
                    break
                self._signal_all(groups, session, signal.SIGCONT)  # a stopped process handles no other signal
                await self._until_gone(groups, session, GRACE_S)
        finally:
            self._kill(groups, session)
            self._hang_up()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
        return self.exit_status

    def kill(self) -> None:
        """KILL at once."""
        self._kill(self._groups(), self._session())

    def _kill(self, groups: set[int], session: int | None) -> None:
        self._signal(groups, signal.SIGKILL)
        family.end(self._mark, session)

    def _groups(self) -> set[int]:
        return {self.pid, *self._foreground()}

    def _session(self) -> int | None:
        """The program's session; None once it has ended, because the id may then be reused."""
        return self.pid if self._process.poll() is None else None

    def _foreground(self) -> tuple[int, ...]:
        """The process group in the terminal's foreground, for example a job of a shell that runs there."""
        if self._master < 0:
            return ()
        try:
            group = os.tcgetpgrp(self._master)
        except OSError:
            return ()
        return (group,) if group > 1 and group != os.getpgrp() else ()

    def _signal_all(self, groups: set[int], session: int | None, number: int) -> bool:
        """Signal the groups, and members of the family outside of them; False if no process is left."""
        is_anybody = self._signal(groups, number)
        others = {one for one in family.members(self._mark, session) if _group_of(one) not in groups}
        family.send_signal(others, number)
        return is_anybody or bool(others)

    def _signal(self, groups: set[int], number: int) -> bool:
        """Signal the groups; False if no process is left."""
        is_anybody = False
        for group in groups:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
                is_anybody = True
        return is_anybody

    async def _until_gone(self, groups: set[int], session: int | None, seconds: float) -> None:
        until = self._loop.time() + seconds
        while self._loop.time() < until:
            self._process.poll()
            is_group_there = self._signal(groups, 0)
            if not is_group_there and not family.members(self._mark, session):
                return
            await asyncio.sleep(_POLL_S if is_group_there else _LOOK_S)


def _group_of(process: int) -> int | None:
    try:
        return os.getpgid(process)
    except ProcessLookupError:
        return None


def _start(
    command: Sequence[str], cwd: str, env: Mapping[str, str], size: tuple[int, int]
) -> tuple[subprocess.Popen[bytes], int, int, str]:
    """The process, our end of its terminal, the pipe that reports a failed execution, and the name of the program's end
    of the terminal."""
    try:
        master, slave = os.openpty()
    except OSError as error:
        raise TerminalError(f"no pseudo-terminal: {error.strerror}", is_retryable=True) from error
    read, write = os.pipe()
    try:
        set_size(slave, size)
        name = os.ttyname(slave)
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_LAUNCHER), str(write), *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=dict(env),
            pass_fds=(write,),
            start_new_session=True,
        )
    except OSError as error:
        for descriptor in (master, read):
            os.close(descriptor)
        raise TerminalError(f"{command[0]!r} cannot be started in {cwd!r}: {error.strerror}") from error
    finally:
        os.close(slave)
        os.close(write)
    return process, master, read, name


def set_size(descriptor: int, size: tuple[int, int]) -> None:
    """Set the size of a terminal, (columns, lines)."""
    columns, lines = size
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
