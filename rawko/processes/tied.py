"""Programs that end with the process that has started them, also where that is killed."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence


def tied(words: Sequence[str], number: signal.Signals) -> list[str]:
    """The words of a program, which gets a signal when the thread that starts it is gone; on systems without `setpriv`
    the words alone."""
    found = shutil.which("setpriv")
    return list(words) if found is None else [found, "--pdeathsig", number.name.removeprefix("SIG"), *words]
