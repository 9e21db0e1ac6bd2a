"""The command line: a face, without logic of its own. Commands load what they need when they run."""

from __future__ import annotations

import os
import sys
from typing import TextIO

READER_GONE = 141
"""What a shell reports of a program that SIGPIPE ended: 128 + 13."""


def main() -> None:
    """Entry point of `rawko`. What the exit codes mean is in docs/command-line.md."""
    from rawko.cli.commands import app

    for stream in (sys.stdout, sys.stderr):
        _never_refuse(stream)
    try:
        app()
    except BrokenPipeError:  # the reader has gone away: `rawko ... | head`
        _discard(sys.stdout)
        sys.exit(READER_GONE)


def _never_refuse(stream: TextIO | None) -> None:
    """Print what a stream's encoding does not have as an escape: names of files may be any bytes."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _discard(stream: TextIO) -> None:
    """Let what is still in a stream's buffer go nowhere: flushing it at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
