"""Lines that a person types while a run is at work on the same terminal: `/force NAME`, `/skip`, `/retry`, `/tell ...`.

Read only where standard input is the terminal of which we are the foreground: a run in the background must not be
stopped for reading. While a question is open, the lines are its answer's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rawko.app.overrides.override import EVENTS
from rawko.vocabulary.documents import accepted

HELP = "/force AGENT (it works next), /skip (the plan's step), /retry (do not wait), /tell TEXT (to the arbiter)"
_FOREGROUND_POLL_S = 0.5
_MAX_LINE_BYTES = 65_536


class TypedError(ValueError):
    """A line that is no override; the message says what would be accepted."""


def parse(line: str) -> tuple[str, str]:
    """The kind and the text of a typed override.

    Raises:
        TypedError: It is none.
    """
    word, _, text = line.strip().partition(" ")
    kind = word.removeprefix("/")
    if not word.startswith("/"):
        raise TypedError(f"while the run works, a line may be: {HELP}")
    if kind not in EVENTS:
        raise TypedError(f"{word!r}{accepted([f'/{name}' for name in EVENTS], found=word)}")
    text = text.strip()
    if kind in ("force", "tell") and not text:
        raise TypedError(f"/{kind} needs {'the name of an agent' if kind == 'force' else 'a text'}")
    if kind in ("skip", "retry") and text:
        raise TypedError(f"/{kind} takes no text, found {text!r}")
    return kind, text


class TypedLines:
    """Hands over every line that is typed, until it is stopped.

    Args:
        descriptor: Of the terminal.
        take: Called with each line.
    """

    def __init__(self, descriptor: int, take: Callable[[str], None]) -> None:
        self._descriptor = descriptor
        self._take = take
        self._buffer = b""
        self._later: asyncio.TimerHandle | None = None
        self._is_listening = False
        self._is_at_end = False

    def start(self) -> None:
        """Begin to listen, in the current loop."""
        if not self._is_listening and not self._is_at_end:
            self._is_listening = True
            self._look()

    def stop(self) -> None:
        """Listen no more."""
        if self._is_listening:
            self._is_listening = False
            if self._later is not None:
                self._later.cancel()
                self._later = None
            asyncio.get_running_loop().remove_reader(self._descriptor)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The lines belong to somebody else in here; half a line that was typed before is forgotten."""
        was_listening = self._is_listening
        self.stop()
        self._buffer = b""
        try:
            yield
        finally:
            if was_listening:
                self.start()

    def _look(self) -> None:
        """Listen while we are in the foreground; in the background look again later: reading would stop us."""
        loop = asyncio.get_running_loop()
        if _is_foreground(self._descriptor):
            self._later = None
            loop.add_reader(self._descriptor, self._read)
        else:
            loop.remove_reader(self._descriptor)
            self._later = loop.call_later(_FOREGROUND_POLL_S, self._look)

    def _read(self) -> None:
        if not _is_foreground(self._descriptor):
            self._look()
            return
        try:
            piece = os.read(self._descriptor, 4096)
        except OSError:  # the terminal has gone away
            piece = b""
        if not piece:  # Ctrl-D, or the end
            self.stop()
            self._is_at_end = True
            return
        *lines, self._buffer = (self._buffer + piece)[-_MAX_LINE_BYTES:].split(b"\n")
        for line in lines:
            if line.strip():
                self._take(line.decode(errors="replace"))


def _is_foreground(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
