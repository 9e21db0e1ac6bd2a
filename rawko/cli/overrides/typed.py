"""Lines that a person types while a run is at work on the same terminal: `/force NAME`, `/skip`, `/retry`, `/tell ...`.

Read only where standard input is the terminal of which we are the foreground: a run in the background must not be
stopped for reading. While a question is open, the lines are its answer's.

Where the bottom of the terminal is drawn again and again, the terminal's own echo would be wiped out: then the keys are
read one by one without echo, and what has been typed so far is drawn with the rest (`typed`). Ctrl-C, Ctrl-Z and
Ctrl-\\ stay the terminal's own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rawko.app.overrides.override import EVENTS
from rawko.vocabulary.documents import accepted

HELP = "/force AGENT (it works next), /skip (the plan's step), /retry (do not wait), /tell TEXT (to the arbiter)"
_FOREGROUND_POLL_S = 0.5
_MAX_LINE_BYTES = 65_536


class TypedError(ValueError):
    """A line that is no override; the message says what would be accepted."""


def is_override(line: str) -> bool:
    """Whether a typed line steers the run, as far as its first word says."""
    word = line.split(maxsplit=1)[:1]
    return bool(word) and word[0].startswith("/") and word[0][1:] in EVENTS


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
        is_drawn: What is typed is drawn by others: no echo.
    """

    def __init__(self, descriptor: int, take: Callable[[str], None], *, is_drawn: bool = False) -> None:
        self._descriptor = descriptor
        self._take = take
        self._buffer = b""
        self._later: asyncio.TimerHandle | None = None
        self._is_listening = False
        self._is_at_end = False
        self._is_drawn = is_drawn
        self._echoing: list[Any] | None = None

    @property
    def typed(self) -> str:
        """What has been typed of the next line, where others draw it."""
        return self._buffer.decode(errors="replace") if self._is_drawn else ""

    def start(self) -> None:
        """Begin to listen, in the current loop."""
        if not self._is_listening and not self._is_at_end:
            self._is_listening = True
            if self._is_drawn:
                asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, self._go_on)
            self._look()

    def stop(self) -> None:
        """Listen no more."""
        if self._is_listening:
            self._is_listening = False
            if self._later is not None:
                self._later.cancel()
                self._later = None
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._descriptor)
            if self._is_drawn:
                loop.remove_signal_handler(signal.SIGCONT)
                self._echo()

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
            if self._is_drawn:
                self._silence()
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
        if self._is_drawn:
            piece = self._edited(piece)
        *lines, self._buffer = (self._buffer + piece)[-_MAX_LINE_BYTES:].split(b"\n")
        for line in lines:
            if line.strip():
                self._take(line.decode(errors="replace"))

    # ------------------------------------------------------------ without echo

    def _edited(self, keys: bytes) -> bytes:
        """The text of some keys; those that take back work on what was typed before. Arrows and the like do nothing."""
        if keys.startswith(b"\x1b"):
            return b""
        kept = bytearray()
        for key in keys:
            if key in (0x7F, 0x08):  # Backspace
                if not kept:
                    self._buffer = self._buffer.decode(errors="ignore")[:-1].encode()
                else:
                    del kept[-1]
            elif key in (0x15, 0x17):  # Ctrl-U takes back the line, Ctrl-W a word
                before = (self._buffer + bytes(kept)).rstrip() if key == 0x17 else b""
                self._buffer, kept = before[: before.rfind(b" ") + 1], bytearray()
            elif key == 0x04:  # Ctrl-D
                continue
            else:
                kept.append(0x0A if key == 0x0D else key)
        return bytes(kept)

    def _silence(self) -> None:
        """Read key by key, without echo; Ctrl-C stays a signal."""
        if self._echoing is None:
            with suppress(termios.error, OSError):
                self._echoing = termios.tcgetattr(self._descriptor)
                quiet = termios.tcgetattr(self._descriptor)
                quiet[3] &= ~(termios.ECHO | termios.ICANON)
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, quiet)

    def _echo(self) -> None:
        """As it was before."""
        if self._echoing is not None and _is_foreground(self._descriptor):
            with suppress(termios.error, OSError):
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._echoing)
            self._echoing = None

    def _go_on(self) -> None:
        """Stopped and taken up again: the shell has put its own modes back meanwhile."""
        self._echoing = None
        self._look()


def _is_foreground(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
