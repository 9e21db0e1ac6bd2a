"""A real terminal with `rawko` on it: what it shows can be waited for, what is typed arrives as from a keyboard."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import subprocess
import time
from collections.abc import Mapping
from fcntl import ioctl
from termios import TIOCSWINSZ
from types import TracebackType

from tests.cli.shell import RAWKO, Shell

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
CTRL_C, CTRL_D = "\x03", "\x04"


class Terminal:
    """`with Terminal(shell, "run", ...) as terminal: terminal.wait_for("Allow it?"); terminal.enter("o")`."""

    def __init__(self, shell: Shell, *words: str, env: Mapping[str, str] | None = None) -> None:
        self._master, slave = pty.openpty()
        ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        # The first terminal that the leader of a session opens becomes its own: then Ctrl-C is a signal.
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec <>"$0"; exec "$@"', os.ttyname(slave), *RAWKO, *words],
            cwd=shell.folder,
            env=shell.environ({"TERM": "xterm-256color", **(env or {})}),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.raw = ""
        self._read_to = 0

    @property
    def text(self) -> str:
        """Everything shown so far, without styles."""
        return _STYLE.sub("", self.raw).replace("\r\n", "\n")

    def wait_for(self, told: str, timeout_s: float = 30) -> str:
        """Read until this is shown, after what was waited for before; what was shown up to its end."""
        until = time.monotonic() + timeout_s
        while (place := self.text.find(told, self._read_to)) < 0:
            assert time.monotonic() < until, f"{told!r} was not shown: {self.text}"
            assert self._read(0.1), f"{told!r} was not shown before the end: {self.text}"
        start, self._read_to = self._read_to, place + len(told)
        return self.text[start : self._read_to]

    def enter(self, line: str) -> None:
        """Type a line and Enter."""
        self.press(f"{line}\n")

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def end(self, timeout_s: float = 30) -> int:
        """Read to the end; the exit code."""
        until = time.monotonic() + timeout_s
        while self._read(0.1):
            assert time.monotonic() < until, f"it does not end: {self.text}"
        code = self.process.wait(timeout_s)
        assert "Traceback" not in self.text, self.text
        return code

    def _read(self, seconds: float) -> bool:
        """False once the other end is closed."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return self.process.poll() is None
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says so of a terminal that nobody holds open any more
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._master)
