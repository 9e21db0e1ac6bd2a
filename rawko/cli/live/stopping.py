"""Ctrl-Z while bottom lines are drawn, or while a question is open.

Ctrl-Z ──> bottom lines erased ──> stopped ... fg: drawn anew, or the prompt again, below what the shell has written
                                           ... bg: nothing is drawn, until the job is in the foreground again
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO


def is_foreground(stream: TextIO) -> bool:
    """Whether this process may draw on the terminal of a stream; True for a stream that is no terminal."""
    try:
        return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return True


@contextmanager
def stopping(before: Callable[[], None]) -> Iterator[None]:
    """Call a function before SIGTSTP stops this process, in the current loop."""
    loop = asyncio.get_running_loop()
    if signal.getsignal(signal.SIGTSTP) is not signal.SIG_DFL:  # ignored, without a shell that continues jobs
        yield
        return

    def stop() -> None:
        before()
        # Again, unhandled: the kernel then does not stop a process that no shell could continue, as SIGSTOP would.
        loop.remove_signal_handler(signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGTSTP)
        loop.add_signal_handler(signal.SIGTSTP, stop)

    try:
        loop.add_signal_handler(signal.SIGTSTP, stop)
    except (RuntimeError, ValueError):  # not the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTSTP)


@contextmanager
def continuing(action: Callable[[], None], stream: TextIO) -> Iterator[None]:
    """Call a function when this process goes on after a stop, in the foreground of a stream's terminal."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGCONT, lambda: action() if is_foreground(stream) else None)
    except (RuntimeError, ValueError):  # not the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGCONT)
