"""A process that continues after the process that started it has ended.

Its standard error goes into an unlinked file, not a pipe: a pipe would break when its reader ends, and end the writer
with it. No event loop manages the process, so that closing a loop leaves nothing behind.
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
    """Starts a command in a new session, without a terminal: `with Detached(...) as process:`.

    Its output can be read until the end of the block; the process may run on after it.

    Args:
        words: The program and its arguments.
        folder: Its working directory; `environ` is its whole environment.

    Raises:
        OSError: The command cannot be started.
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
        """The exit code; None while the process is running."""
        return self._process.returncode

    @property
    def printed(self) -> str:
        """The end of its standard output."""
        return _end_of(self._out.fileno())

    @property
    def complained(self) -> str:
        """The end of its standard error."""
        return _end_of(self._err.fileno())

    async def ended(self, timeout_s: float | None = None) -> bool:
        """Wait for the process to end, at most `timeout_s` seconds; whether it has ended."""
        loop = asyncio.get_running_loop()
        until = None if timeout_s is None else loop.time() + timeout_s
        while self.code is None and (until is None or loop.time() < until):  # noqa: ASYNC110 - a thread waits for it
            await asyncio.sleep(_POLL_S)
        return self.code is not None


def _end_of(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, SAID_BYTES, max(size - SAID_BYTES, 0)).decode("utf-8", "replace").strip()
