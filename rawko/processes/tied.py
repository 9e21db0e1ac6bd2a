"""Starts programs that end with the process that started them, even if that is killed."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence


def tied(words: Sequence[str], number: signal.Signals) -> list[str]:
    """The command line of a program that gets a signal when the thread that starts it ends; unchanged on systems
    without `setpriv`.
    """
    found = shutil.which("setpriv")
    return list(words) if found is None else [found, "--pdeathsig", number.name.removeprefix("SIG"), *words]
