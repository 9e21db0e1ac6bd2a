"""Builds command lines: of rawko itself, and of the launcher (default signals, or a supervisor of a command).

A signal that is ignored stays ignored across `exec`. Under `nohup`, which ignores SIGHUP, a child would survive a
hang-up, and bash cannot trap a signal that was ignored when it started. `subprocess` restores only the three signals
that Python itself ignores, and a function between fork and exec is unsafe in a process with threads; so a small
program runs between the two.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_PYTHON: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launcher.py")))
_RESTORED: Final = frozenset(
    getattr(signal, name) for name in ("SIGPIPE", "SIGXFZ", "SIGXFSZ") if hasattr(signal, name)
)
"""The signals that `subprocess` restores by itself (its `restore_signals`)."""


def rawko_command(*words: str) -> list[str]:
    """The command line that runs `rawko` with these arguments in a new process.

    `-P`: with `-m` alone, Python would take `rawko` and every other module from the current folder, which may be a
    project that nobody trusts.
    """
    return [sys.executable, "-P", "-m", "rawko", *words]


def with_default_signals(argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` with default signals and no blocked signal.

    Returns `argv` itself if this process ignores and blocks nothing: the launcher costs some milliseconds.
    """
    if not has_other_signals():
        return list(argv)
    return [*_PYTHON, *argv]


def supervised(argv: Sequence[str], control: int | None, grace_ms: int) -> list[str]:
    """The command line of a supervisor that runs `argv` in a new session and ends all of its descendants.

    Args:
        control: A socket that the supervisor inherits; `launcher` describes its messages. None: the supervisor ends
            all processes at the signal TERM, and when the calling thread ends.
        grace_ms: Between TERM and KILL.
    """
    return [*_PYTHON, "--supervised", "-" if control is None else str(control), str(grace_ms / 1000), *argv]


def has_other_signals() -> bool:
    """Whether a child would inherit an ignored or blocked signal."""
    if signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        return True
    return any(
        signal.getsignal(number) is signal.SIG_IGN for number in signal.valid_signals() if number not in _RESTORED
    )
