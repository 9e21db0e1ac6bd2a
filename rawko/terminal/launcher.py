"""Run in the new process: take the terminal as its own, then become the program. Imports nothing of rawko.

Usage: python -I -S launcher.py FD COMMAND [ARGUMENTS]. What goes wrong is written to FD as "errno"; the program itself
closes FD by being executed. A fork in a process with threads could not do this safely.
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
    """What was ignored or blocked above us is neither in the program: Python itself ignores SIGPIPE, nohup SIGHUP."""
    for number in signal.valid_signals():
        with suppress(OSError, ValueError):  # KILL, STOP, and those that the C library keeps for itself
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def take_usable_locale() -> None:
    """A locale that this machine does not have would be C to the program, without the terminal's UTF-8."""
    try:
        locale.setlocale(locale.LC_ALL, "")
    except locale.Error:
        os.environ["LC_ALL"] = "C.UTF-8"


if __name__ == "__main__":
    main()
