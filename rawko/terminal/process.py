"""A program in a session of its own, on a pseudo-terminal that is its controlling one.

Bytes out are handed over as they come, in small pieces, so that a program that floods waits for us and everybody else
in the loop gets a turn; bytes in are written as far as the program takes them.
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
"""Output that takes longer to look at is a flood: then we rest as long, so that others in the loop get their turn."""
GRACE_S: Final = 0.5
"""Between HUP, TERM and KILL."""
WRITE_TIMEOUT_S: Final = 5.0
_POLL_S: Final = 0.01
_LOOK_S: Final = 0.05
"""Between two looks for what costs more than a signal: members of the family, a terminal that somebody opens again."""
MARK: Final = "RAWKO_EXPLORATION"
"""The variable by which all that a program starts is found again."""
_LAUNCHER: Final = Path(__file__).with_name("launcher.py")


def marked(run: str) -> str:
    """The mark of an exploration, as `rawko.processes.family` takes it."""
    return f"{MARK}={run}"


class PtyProcess:
    """A running program; made by `start`.

    Attributes:
        pid: Of the program, which leads its session and process group.
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
        self._is_let_go = False
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
            mark: By which all that it starts is found again; nobody else's.
            on_output: Called with each piece of output.
            write_timeout_s: So long a program may leave unread what is typed.

        Raises:
            TerminalError: It cannot be executed, or there is no terminal to be had.
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
        """The pipe is closed by the program's execution; a number in it says why there was none."""
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
            self._is_let_go = False
            return
        except OSError:  # Linux says so of a terminal that nobody holds open any more
            data = b""
        if not data:
            self._let_go()
            return
        self._is_let_go = False
        started = self._loop.time()
        self._on_output(data)
        elapsed = self._loop.time() - started
        if elapsed > PAUSE_FROM_S:
            self._loop.remove_reader(self._master)
            self._loop.call_later(elapsed, self._go_on)

    def _let_go(self) -> None:
        """Nobody holds the terminal open. A program that still runs may open it again, and must not be hung up on."""
        self._is_let_go = True
        if self._process.poll() is not None:
            self._hang_up()
            return
        self._loop.remove_reader(self._master)
        self._loop.call_later(_LOOK_S, self._go_on)

    def _go_on(self) -> None:
        if self._master >= 0:
            self._loop.add_reader(self._master, self._read)

    @property
    def is_hung_up(self) -> bool:
        """Nobody holds the terminal open any more: there will be no more output."""
        return self._master < 0

    def _hang_up(self) -> None:
        if self._master >= 0:
            self._loop.remove_reader(self._master)
            os.close(self._master)
            self._master = -1

    # ------------------------------------------------------------ in

    async def write(self, data: bytes) -> None:
        """Write what was typed.

        Raises:
            TerminalError: The terminal is closed, or the program leaves what was typed before unread.
        """
        until = self._loop.time() + self._write_timeout_s
        while data:
            written = self._write(data)
            data = data[written:]
            if written:
                until = self._loop.time() + self._write_timeout_s
            elif self._loop.time() > until:
                raise TerminalError(
                    f"the program takes no input: {len(data)} bytes were left after {self._write_timeout_s:g} s"
                )
            else:
                await asyncio.sleep(_POLL_S)

    async def until_read(self, timeout_s: float) -> None:
        """Wait until the program has taken what was typed, or for so long: one that takes lines may never."""
        until = self._loop.time() + timeout_s
        while self._unread() and self._loop.time() < until:  # noqa: ASYNC110 - only the system knows
            await asyncio.sleep(_POLL_S)

    def _unread(self) -> int:
        """Bytes that were typed and that the program could read by now."""
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
        if self._is_let_go:
            raise TerminalError("the program has closed its terminal: it cannot be typed at")
        try:
            return os.write(self._master, data[:CHUNK_BYTES])
        except BlockingIOError:
            return 0
        except OSError as error:
            raise TerminalError(f"the terminal is closed: {error.strerror}") from error

    def answer(self, data: bytes) -> None:
        """Write what a terminal answers by itself; a program that does not read goes without."""
        with suppress(TerminalError):
            self._write(data)

    def resize(self, size: tuple[int, int]) -> None:
        """Tell the program that the terminal has another size, (columns, lines)."""
        if self._master >= 0:
            set_size(self._master, size)

    # ------------------------------------------------------------ the end

    @property
    def exit_status(self) -> int | None:
        """As a shell tells it: 128 + signal; None while it runs."""
        code = self._process.poll()
        return None if code is None else 128 - code if code < 0 else code

    @property
    def ended_s(self) -> float:
        """How long it has been known that it has ended; 0 while it runs."""
        if self.exit_status is None:
            return 0.0
        if self._ended_at is None:
            self._ended_at = self._loop.time()
        return self._loop.time() - self._ended_at

    async def close(self) -> int | None:
        """HUP, TERM, KILL to all that the program has started, each after a grace; then the exit status."""
        groups, session = self._groups(), self._session()
        try:
            for number in (signal.SIGHUP, signal.SIGTERM):
                if not self._tell(groups, session, number):
                    break
                self._tell(groups, session, signal.SIGCONT)  # whoever is stopped takes no other
                await self._gone(groups, session, GRACE_S)
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
        """Of the program; None once it has ended, since the number may be somebody else's then."""
        return self.pid if self._process.poll() is None else None

    def _foreground(self) -> tuple[int, ...]:
        """The process group that has the terminal: a job of the shell that runs there, say."""
        if self._master < 0:
            return ()
        try:
            group = os.tcgetpgrp(self._master)
        except OSError:
            return ()
        return (group,) if group > 1 and group != os.getpgrp() else ()

    def _tell(self, groups: set[int], session: int | None, number: int) -> bool:
        """Signal the groups, and whoever of the family is in none of them; False if nobody is there any more."""
        is_anybody = self._signal(groups, number)
        others = {one for one in family.members(self._mark, session) if _group_of(one) not in groups}
        family.tell(others, number)
        return is_anybody or bool(others)

    def _signal(self, groups: set[int], number: int) -> bool:
        """False if nobody is there any more."""
        is_anybody = False
        for group in groups:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
                is_anybody = True
        return is_anybody

    async def _gone(self, groups: set[int], session: int | None, seconds: float) -> None:
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
    """The process, our end of its terminal, the pipe on which it tells that it could not be executed, and the name of
    its end."""
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
    """The size of a terminal, (columns, lines)."""
    columns, lines = size
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
