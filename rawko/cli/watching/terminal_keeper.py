"""Runs the terminal view in a child process; the parent, for which the shell waits, restores the terminal afterwards.

    shell ── waits for ──> keeper ── fork ──> view: no echo, no cursor, the mouse reported
                              │<── SIGKILL ──── x
                              └── restores modes, clears the view's rows, exits with 137

A process killed by SIGKILL cannot restore the terminal itself. A shell restores modes only for programs that it started
itself, and never the cursor, the mouse or the keyboard. The keeper passes on the signals sent to it, stops when the
view is stopped, and ends as the view ends. On Linux it has its own process name, so that `pkill rawko` matches only the
view. If the keeper is killed, the view restores what it can and ends by SIGKILL, too: the shell may have continued
already, so the rows stay, and echo returns only if that shell started the keeper itself.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

_PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGTSTP)
_BLOCKED: Final = (*_PASSED_ON, signal.SIGCHLD, signal.SIGTTOU)
"""SIGTTOU would stop a keeper that writes while it is in the background."""
_QUIET: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE)
_SIGNALLED: Final = 128
_NAME: Final = "terminal-keeper"
"""At most 15 characters, the limit of Linux."""
_BY_KERNEL: Final = 0x80
"""`si_code` of a signal sent by a key of the terminal: all processes in the foreground receive it."""

_PLAIN: Final = (
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"  # the mouse
    "\x1b[?1004l\x1b[?2004l\x1b[<u"  # focus, marked pastes, kitty's keyboard protocol
    "\x1b[?2026l\x1b[?7h\x1b[0m\x1b[?25h"  # drawing at once, wrapping, colours, cursor
)
_OWN_SCREEN_OFF: Final = "\x1b[?1049l"
_ROWS_OFF: Final = "\r\x1b[J"


class _Terminal:
    """The terminal of this process, with its modes at the start."""

    def __init__(self, descriptor: int, *, is_full: bool) -> None:
        self._descriptor = descriptor
        self._modes = termios.tcgetattr(descriptor)
        self._end = _OWN_SCREEN_OFF if is_full else _ROWS_OFF

    @property
    def is_raw(self) -> bool:
        """Whether the modes differ from those at the start."""
        with suppress(termios.error):
            now: list[Any] = termios.tcgetattr(self._descriptor)
            return now != self._modes
        return False

    def set_back(self) -> None:
        """Clear the view's rows and restore all modes; in the background, only modes set by escape sequences."""
        with suppress(termios.error, OSError):
            is_ours = os.tcgetpgrp(self._descriptor) == os.getpgrp()
            os.write(self._descriptor, (_PLAIN + (self._end if is_ours else "")).encode())
            if is_ours:
                termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, self._modes)


def keep_terminal(*, is_full: bool, told: str = "") -> None:
    """Continue in a child process; this process waits for the child and ends as it ends. Call it before starting
    threads.

    Does nothing where standard input is not a terminal.

    Args:
        is_full: Whether the view takes the whole screen.
        told: A line about how to continue, printed after the view was killed.
    """
    try:
        terminal = _Terminal(sys.stdin.fileno(), is_full=is_full)
    except (termios.error, OSError, ValueError, AttributeError):
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    handler = signal.signal(signal.SIGCHLD, lambda *_: None)
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(reading)
        _keep(child, terminal, told)
    os.close(writing)
    signal.signal(signal.SIGCHLD, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    threading.Thread(target=_end_with_keeper, args=(reading, terminal), name="rawko-keeper", daemon=True).start()


def _end_with_keeper(reading: int, terminal: _Terminal) -> None:
    """Wait until the keeper has ended, which closes its end of the pipe; then restore the terminal and end."""
    os.read(reading, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    terminal.set_back()
    os.kill(os.getpid(), signal.SIGKILL)


# ------------------------------------------------------------ the keeper


def _keep(child: int, terminal: _Terminal, told: str) -> NoReturn:
    """Wait for the view's end, then exit without cleanup: all resources of this process belong to the child now."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(_NAME)
    wait = _waiting()
    while True:
        number = wait()
        if number in _PASSED_ON:
            with suppress(ProcessLookupError):
                os.kill(child, number)
        found, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if not found:
            continue
        if not os.WIFSTOPPED(status):
            _end(status, terminal, told)
        os.kill(os.getpid(), signal.SIGSTOP)  # the shell notices, and continues both later


def _waiting() -> Callable[[], int]:
    """A function that waits for the keeper's next signal; it returns 0 for a signal that the child received as well."""
    if sys.platform == "darwin":  # does not report the sender of a signal
        return lambda: signal.sigwait(_BLOCKED)

    def wait() -> int:
        found = signal.sigwaitinfo(_BLOCKED)
        return 0 if found.si_code == _BY_KERNEL and found.si_signo != signal.SIGHUP else found.si_signo

    return wait


def _end(status: int, terminal: _Terminal, told: str) -> NoReturn:
    """End with the exit code or signal of the view."""
    was_raw = terminal.is_raw
    if was_raw:
        terminal.set_back()
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    number = os.WTERMSIG(status)
    if number in _QUIET:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    name = signal.Signals(number).name
    is_set_back = "; the terminal is as it was before" if was_raw else ""
    with suppress(OSError):
        os.write(2, f"rawko: the view was ended by {name}{is_set_back}\n{told}".encode())
    os._exit(_SIGNALLED + number)
