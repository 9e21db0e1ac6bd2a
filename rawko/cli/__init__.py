"""The command line: a face, without logic of its own. Commands load what they need when they run."""

from __future__ import annotations

import signal
import sys
from typing import TextIO


def main() -> None:
    """Entry point of `rawko`. What the exit codes mean is in docs/command-line.md."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # `run` has handlers of its own; nothing else has to be tidied up
    from rawko.cli.commands import app

    for stream in (sys.stdout, sys.stderr):
        _never_refuse(stream)
    app(prog_name="rawko")


def _never_refuse(stream: TextIO | None) -> None:
    """Print what a stream's encoding does not have as an escape: names of files may be any bytes."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
