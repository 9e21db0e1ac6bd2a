"""Reads lines typed while a run works on the same terminal: `/force NAME`, `/skip`, `/retry`, `/tell ...`.

It reads only where standard input is a terminal with this process in the foreground: reading would stop a process in
the background. While a question is open, typed lines are its answer.

Where the bottom of the terminal is redrawn, the terminal's own echo would be erased: keys are then read one by one
without echo, and the typed part of the line is drawn with the rest (`typed`). The terminal still handles Ctrl-C, Ctrl-Z
and Ctrl-\\.
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
    """A line is not an override; the message lists what is accepted."""


def is_override(line: str) -> bool:
    """Whether a typed line is an override, judged by its first word."""
    word = line.split(maxsplit=1)[:1]
    return bool(word) and word[0].startswith("/") and word[0][1:] in EVENTS


def parse(line: str) -> tuple[str, str]:
    """The kind and the text of a typed override.

    Raises:
        TypedError: The line is not an override.
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
    """Passes each typed line on, until it is stopped.

    Args:
        descriptor: Descriptor of the terminal.
        take: Called with each line.
        is_drawn: Whether others draw the typed line; the terminal then has no echo.
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
        """The typed part of the next line, where others draw it."""
        return self._buffer.decode(errors="replace") if self._is_drawn else ""

    def start(self) -> None:
        """Start reading, in the current loop."""
        if not self._is_listening and not self._is_at_end:
            self._is_listening = True
            if self._is_drawn:
                asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, self._go_on)
            self._look()

    def stop(self) -> None:
        """Stop reading, and restore the terminal's echo."""
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
        """A context in which others read the terminal; a partly typed line is discarded."""
        was_listening = self._is_listening
        self.stop()
        self._buffer = b""
        try:
            yield
        finally:
            if was_listening:
                self.start()

    def _look(self) -> None:
        """Read while this process is in the foreground; in the background check again later, since reading would stop
        it."""
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
        except OSError:  # the terminal is closed
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
        """The text of some keys. Backspace, Ctrl-U and Ctrl-W also delete earlier text; arrow keys and the like do
        nothing.

        typed before    keys               result       remaining earlier text
        "/tell old"     Backspace          ""           "/tell ol"
        "/tell ol"      Ctrl-W, "new"      "new"        "/tell "
        "/tell new"     Enter              a newline    "/tell new"
        """
        if keys.startswith(b"\x1b"):
            return b""
        kept = bytearray()
        for key in keys:
            if key in (0x7F, 0x08):  # Backspace
                if not kept:
                    self._buffer = self._buffer.decode(errors="ignore")[:-1].encode()
                else:
                    del kept[-1]
            elif key in (0x15, 0x17):  # Ctrl-U deletes the line, Ctrl-W a word
                before = (self._buffer + bytes(kept)).rstrip() if key == 0x17 else b""
                self._buffer, kept = before[: before.rfind(b" ") + 1], bytearray()
            elif key == 0x04:  # Ctrl-D
                continue
            else:
                kept.append(0x0A if key == 0x0D else key)
        return bytes(kept)

    def _silence(self) -> None:
        """Read key by key, without echo; Ctrl-C still sends a signal."""
        if self._echoing is None:
            with suppress(termios.error, OSError):
                self._echoing = termios.tcgetattr(self._descriptor)
                quiet = termios.tcgetattr(self._descriptor)
                quiet[3] &= ~(termios.ECHO | termios.ICANON)
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, quiet)

    def _echo(self) -> None:
        """Restore the terminal's modes."""
        if self._echoing is not None and _is_foreground(self._descriptor):
            with suppress(termios.error, OSError):
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._echoing)
            self._echoing = None

    def _go_on(self) -> None:
        """Handle SIGCONT: the shell has restored its own modes while this process was stopped."""
        self._echoing = None
        self._look()


def _is_foreground(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
