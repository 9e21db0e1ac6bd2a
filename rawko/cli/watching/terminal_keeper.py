"""The terminal view in a process of its own; the process that the shell waits for sets the terminal back after it.

    shell ── waits for ──> keeper ── fork ──> view: no echo, no cursor, the mouse reported
                              │<── SIGKILL ──── x
                              └── modes as before, the view's rows cleared, exit code 137

A process that is killed by SIGKILL cannot do that itself. A shell sets the modes back only where it has started the
program itself, and never the cursor, the mouse or the keyboard. The keeper passes on the signals that are sent to it,
stops where the view is stopped, and ends as the view ends. On Linux it has a name of its own, so that `pkill rawko`
finds the view alone. Where the keeper is killed, the view sets back what it can and ends by SIGKILL, too: the shell may
have gone on already, so that the rows stay, and echo comes back only where that shell has started the keeper itself.
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
"""SIGTTOU would stop a keeper that is not in the foreground any more as it writes."""
_QUIET: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE)
_SIGNALLED: Final = 128
_NAME: Final = "terminal-keeper"
"""At most 15 characters, as Linux keeps them."""
_BY_KERNEL: Final = 0x80
"""`si_code` of a signal that a key of the terminal has sent: then all processes in the foreground have it."""

_PLAIN: Final = (
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"  # the mouse
    "\x1b[?1004l\x1b[?2004l\x1b[<u"  # focus, marked pastes, kitty's keyboard protocol
    "\x1b[?2026l\x1b[?7h\x1b[0m\x1b[?25h"  # drawing at once, wrapping, colours, cursor
)
_OWN_SCREEN_OFF: Final = "\x1b[?1049l"
_ROWS_OFF: Final = "\r\x1b[J"


class _Terminal:
    """The terminal of this process, and its modes as they are now."""

    def __init__(self, descriptor: int, *, is_full: bool) -> None:
        self._descriptor = descriptor
        self._modes = termios.tcgetattr(descriptor)
        self._end = _OWN_SCREEN_OFF if is_full else _ROWS_OFF

    @property
    def is_raw(self) -> bool:
        """Whether its modes differ from those at the start."""
        with suppress(termios.error):
            now: list[Any] = termios.tcgetattr(self._descriptor)
            return now != self._modes
        return False

    def set_back(self) -> None:
        """Clear the view's rows and set all modes back; in the background, only those that the view alone has set."""
        with suppress(termios.error, OSError):
            is_ours = os.tcgetpgrp(self._descriptor) == os.getpgrp()
            os.write(self._descriptor, (_PLAIN + (self._end if is_ours else "")).encode())
            if is_ours:
                termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, self._modes)


def keep_terminal(*, is_full: bool, told: str = "") -> None:
    """Go on in a child; this process waits for it and ends as it ends. Call it while the process has one thread.

    Does nothing where standard input is no terminal.

    Args:
        is_full: The view takes the whole screen.
        told: A line printed after the view was killed: how to go on.
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
    """Wait until the keeper is gone, whose end of the pipe then is closed."""
    os.read(reading, 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    terminal.set_back()
    os.kill(os.getpid(), signal.SIGKILL)


# ------------------------------------------------------------ the keeper


def _keep(child: int, terminal: _Terminal, told: str) -> NoReturn:
    """Wait for the view's end; nothing of this process is unwound, since all that it holds is the child's now."""
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
        os.kill(os.getpid(), signal.SIGSTOP)  # the shell sees it, and lets both go on


def _waiting() -> Callable[[], int]:
    """Gives the next signal for the keeper; 0 for one that the child has got from the terminal as well."""
    if sys.platform == "darwin":  # does not tell who has sent a signal
        return lambda: signal.sigwait(_BLOCKED)

    def wait() -> int:
        found = signal.sigwaitinfo(_BLOCKED)
        return 0 if found.si_code == _BY_KERNEL and found.si_signo != signal.SIGHUP else found.si_signo

    return wait


def _end(status: int, terminal: _Terminal, told: str) -> NoReturn:
    """End as the view has ended."""
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
