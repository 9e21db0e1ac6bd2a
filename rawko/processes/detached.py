"""A process that goes on when the one that has started it ends.

Its standard error goes into a nameless file, not a pipe: a pipe would break once its reader has ended, and with it the
process that writes. No event loop knows the process, so that a loop that is closed leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final

SAID_BYTES: Final = 2_000
_POLL_S: Final = 0.05


class Detached:
    """Starts a command in a session of its own, without a terminal: `with Detached(...) as process:`.

    What it says can be read until the end of the block; the process may go on after it.

    Args:
        words: The program and its arguments.
        folder: That it works in; `environ` is its whole environment.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        with ExitStack() as stack:
            self._out, self._err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._err,
                start_new_session=True,
            )
            self._files = stack.pop_all()
        threading.Thread(target=self._process.wait, name=f"wait for {self._process.pid}", daemon=True).start()

    def __enter__(self) -> Detached:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()

    @property
    def code(self) -> int | None:
        """Its exit code; None while it is running."""
        return self._process.returncode

    @property
    def printed(self) -> str:
        """The end of what it has written to its standard output."""
        return _end_of(self._out.fileno())

    @property
    def complained(self) -> str:
        """The end of what it has written to its standard error."""
        return _end_of(self._err.fileno())

    async def ended(self, timeout_s: float | None = None) -> bool:
        """Wait for its end, at most so long; whether it has ended."""
        loop = asyncio.get_running_loop()
        until = None if timeout_s is None else loop.time() + timeout_s
        while self.code is None and (until is None or loop.time() < until):  # noqa: ASYNC110 - a thread waits for it
            await asyncio.sleep(_POLL_S)
        return self.code is not None


def _end_of(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, SAID_BYTES, max(size - SAID_BYTES, 0)).decode("utf-8", "replace").strip()
