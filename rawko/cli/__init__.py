"""The command line: a face, without logic of its own. Commands load what they need when they run."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of `rawko`. Exit codes: see DESIGN's table in docs/command-line.md."""
    from rawko.cli.commands import app

    try:
        app()
    except BrokenPipeError:  # the reader has gone away: `rawko ... | head`
        sys.stderr.close()
        sys.exit(141)
