"""Script that runs in the new process: makes the terminal its controlling one, then becomes the program.

Usage: python -I -S launcher.py FD COMMAND [ARGUMENTS]. An error is written to FD as a decimal errno; a successful
`exec` closes FD. It imports nothing of rawko. A function between fork and exec could not do this safely in a process
with threads.
"""

from __future__ import annotations

import fcntl
import locale
import os
import signal
import sys
import termios
from contextlib import suppress


def main() -> None:
    report = int(sys.argv[1])
    command = [os.fsencode(word) for word in sys.argv[2:]]
    os.set_inheritable(report, False)
    try:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        take_default_signals()
        take_usable_locale()
        os.execvp(command[0], command)
    except OSError as error:
        os.write(report, str(error.errno).encode())
    os._exit(127)


def take_default_signals() -> None:
    """Restore default handling of all signals, and unblock them: Python ignores SIGPIPE, nohup ignores SIGHUP."""
    for number in signal.valid_signals():
        with suppress(OSError, ValueError):  # KILL, STOP, and signals that the C library reserves
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def take_usable_locale() -> None:
    """Replace a locale that this machine lacks: the program would fall back to C, without the terminal's UTF-8."""
    try:
        locale.setlocale(locale.LC_ALL, "")
    except locale.Error:
        os.environ["LC_ALL"] = "C.UTF-8"


if __name__ == "__main__":
    main()
