"""The command line: a face, without logic of its own. Commands load what they need when they run."""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path

from rawko.cli.exit_codes import CANNOT_WRITE, MISSING_EXTRA, READER_GONE
from rawko.cli.tracebacks import mask_tracebacks
from rawko.extras import MissingExtra
from rawko.processes.keys import protect
from rawko.processes.memory import collect_seldom, loading
from rawko.tools.commands.environment import is_public


def main() -> None:
    """Entry point of `rawko`. What the exit codes mean is in docs/command-line.md."""
    protect(is_public)  # before anything of a project or of a third party is loaded
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # `run` has handlers of its own; nothing else has to be tidied up
    for name in ("stdout", "stderr"):
        _make_writable(name)
    mask_tracebacks()
    collect_seldom()
    with loading():
        from rawko.cli.commands.application import application

        app = application(sys.argv[1:])

    try:
        try:
            app(prog_name="rawko")
        finally:
            sys.stdout.flush()  # here, where a refusal can be told; at the interpreter's exit it could not
    except MissingExtra as error:
        print(f"rawko: {error}", file=sys.stderr)
        sys.exit(MISSING_EXTRA)
    except BrokenPipeError:
        os._exit(READER_GONE)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO):
            raise
        print(f"rawko: the output cannot be written: {error.strerror}", file=sys.stderr)
        os._exit(CANNOT_WRITE)  # an ordinary exit would flush, and fail, again


def _make_writable(name: str) -> None:
    """A stream that refuses nothing.

    What its encoding does not have is printed as an escape, since names of files may be any bytes; one that was
    closed (`>&-`) goes nowhere, so that no file that is opened later takes its place.
    """
    if getattr(sys, name) is None:
        setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (for as long as the process lives)
    reconfigure = getattr(getattr(sys, name), "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
