"""Command lines of the launcher: default signals for a child, and a parent that ends all that it starts.

What is ignored stays ignored across `exec`: under `nohup`, which ignores SIGHUP, a child would survive its hang-up, and
bash cannot even trap what it was started with ignored. `subprocess` restores only the three signals that Python itself
ignores, and a function between fork and exec is unsafe beside threads, so a small program in between does it.
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
"""What `subprocess` itself gives back (its `restore_signals`)."""


def with_default_signals(argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` with default signals and none blocked.

    It is `argv` itself where this process ignores and blocks nothing: only then the launcher costs some milliseconds.
    """
    if not has_other_signals():
        return list(argv)
    return [*_PYTHON, *argv]


def supervised(argv: Sequence[str], control: int | None, grace_ms: int) -> list[str]:
    """The command line of a parent that runs `argv` in a session of its own and ends all of its descendants.

    Args:
        control: A socket that the parent inherits; what is spoken on it stands in `launcher`. Without one the parent
            ends all at the signal TERM, and when this thread ends.
        grace_ms: Between TERM and KILL.
    """
    return [*_PYTHON, "--supervised", "-" if control is None else str(control), str(grace_ms / 1000), *argv]


def has_other_signals() -> bool:
    """Whether a child would inherit a signal that is ignored or blocked."""
    if signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        return True
    return any(
        signal.getsignal(number) is signal.SIG_IGN for number in signal.valid_signals() if number not in _RESTORED
    )
