"""Run in the new process: take the terminal as its own, then become the program. Imports nothing of rawko.

Usage: python -I -S launcher.py FD COMMAND [ARGUMENTS]. What goes wrong is written to FD as "errno"; the program itself
closes FD by being executed. A fork in a process with threads could not do this safely.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios


def main() -> None:
    report = int(sys.argv[1])
    command = [os.fsencode(word) for word in sys.argv[2:]]
    os.set_inheritable(report, False)
    try:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and what it executes would inherit that
        os.execvp(command[0], command)
    except OSError as error:
        os.write(report, str(error.errno).encode())
    os._exit(127)


if __name__ == "__main__":
    main()
