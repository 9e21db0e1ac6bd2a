"""Stops the view (Ctrl-Z, SIGTSTP): returns the terminal to the shell, and takes it again on SIGCONT.

    Ctrl-Z ──> terminal as the shell had it ──> SIGSTOP ... fg: SIGCONT ──> modes of the view, drawn anew
                                                        ... bg: stopped again, since it needs the terminal

textual does this only for its full-screen form, not for the inline form. A process stopped by SIGSTOP cannot restore
the terminal first: the shell does so for the jobs it stops, and the view sets its own modes again on SIGCONT.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from contextlib import suppress
from typing import Any

from rich.control import Control
from textual.app import App
from textual.geometry import Offset


class Stopping:
    """Stops and continues a view. Create it before the view's loop runs; call `attach` in the loop."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._is_stopped = False

    def attach(self) -> None:
        """Handle the signals in place of textual."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self.stop)
        loop.add_signal_handler(signal.SIGCONT, self._go_on)

    def stop(self) -> None:
        """Return the terminal to the shell, and stop this process until it is in the foreground again."""
        driver = self._app._driver
        if driver is None or driver.is_headless or self._is_stopped:
            return
        self._is_stopped = True
        try:
            if driver.is_inline:
                driver.write(Control.move(*(-self._app._previous_cursor_position)).segment.text)
            driver.suspend_application_mode()
            os.kill(os.getpid(), signal.SIGSTOP)
            while not _is_in_foreground():
                os.kill(os.getpid(), signal.SIGSTOP)
            self._take_terminal()
        finally:
            self._is_stopped = False

    def _go_on(self) -> None:
        """Handle SIGCONT: a view that SIGSTOP stopped has lost its terminal modes to the shell."""
        driver = self._app._driver
        if driver is None or driver.is_headless or self._is_stopped or not _is_cooked():
            return
        self._is_stopped = True
        try:
            driver.suspend_application_mode()
            self._take_terminal()
        finally:
            self._is_stopped = False

    def _take_terminal(self) -> None:
        """Set the view's terminal modes again, and redraw it at the present cursor and size."""
        driver = self._app._driver
        assert driver is not None
        self._app._previous_cursor_position = Offset(0, 0)
        driver.resume_application_mode()
        self._app.screen.refresh(layout=True)


def _is_in_foreground() -> bool:
    with suppress(OSError, ValueError):
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    return True


def _is_cooked() -> bool:
    """Whether the terminal is in line mode, as shells set it, and this process may change the mode."""
    with suppress(termios.error, OSError, ValueError):
        return _is_in_foreground() and bool(termios.tcgetattr(sys.stdin.fileno())[3] & termios.ICANON)
    return False
