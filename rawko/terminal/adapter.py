"""The adapter of the port `Terminal`: a program, its pseudo-terminal, and its screen."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import uuid4

from rawko.machines.node_engine.explore.ports import TerminalError
from rawko.machines.node_engine.explore.screen import Screen
from rawko.processes import family
from rawko.terminal.emulator import Emulator
from rawko.terminal.keys import keys_bytes, paste_bytes
from rawko.terminal.process import WRITE_TIMEOUT_S, PtyProcess, marked

ESCAPE_PAUSE_S: Final = 0.2
"""Pause after the key escape: the program would take bytes that follow at once for one sequence, or a key with alt."""
ESCAPE_READ_S: Final = 2.0
"""The longest wait for a busy program to read the escape, before the pause."""
DRAIN_S: Final = 0.2
"""The longest wait for the last output of an ended program, if a child of it holds the terminal open."""
_POLL_S: Final = 0.05
_SETTINGS: Final = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
_STALE: Final = ("COLUMNS", "LINES", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "STY")
"""Variables that describe the terminal on which rawko itself runs."""


class PtyTerminal:
    """Implements `rawko.machines.node_engine.explore.ports.Terminal`.

    Args:
        command: The program and its arguments.
        size: (columns, lines).
        write_timeout_s: How long a program may leave typed input unread.
        secrets: Values that may be typed, by the names of their variables; the program's environment lacks them.
        mark: Identifies all processes that the program starts, also for another process after a crash; by default
            random.
        before_launch: Called before each launch, in a thread.
        on_group: Called with each process group that starts (True) and ends (False).
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        size: tuple[int, int] = (80, 24),
        secrets: Mapping[str, str] | None = None,
        mark: str | None = None,
        on_group: Callable[[int, bool], None] = lambda group, is_there: None,
        before_launch: Callable[[], object] = lambda: None,
        write_timeout_s: float = WRITE_TIMEOUT_S,
    ) -> None:
        self._command = tuple(command)
        self._cwd = cwd
        self._secrets = dict(secrets or {})
        self._env = terminal_environment({name: value for name, value in env.items() if name not in self._secrets})
        self._size = size
        self._mark = mark or uuid4().hex
        self._on_group = on_group
        self._before_launch = before_launch
        self._write_timeout_s = write_timeout_s
        self._process: PtyProcess | None = None
        self._emulator = Emulator(*size)
        self._written = asyncio.Event()
        self._last_output = 0.0
        self._last_status: int | None = None

    # ------------------------------------------------------------ the port

    @property
    def is_open(self) -> bool:
        """Whether a program was launched, and not closed since."""
        return self._process is not None

    @property
    def exit_status(self) -> int | None:
        """The exit status of a program that has ended; None while it runs."""
        return self._last_status if self._process is None else self._process.exit_status

    async def launch(self) -> int:
        """Launch the program again; returns its process id."""
        await self.close()
        await asyncio.to_thread(self._end_leftovers)
        emulator = self._emulator = Emulator(*self._size, reply=self._answer)
        take = partial(self._take, emulator)
        self._last_status = None
        self._last_output = asyncio.get_running_loop().time()
        process = await PtyProcess.start(
            self._command,
            cwd=self._cwd,
            env=self._env,
            size=self._size,
            mark=self._mark,
            on_output=take,
            write_timeout_s=self._write_timeout_s,
        )
        self._process = process
        self._on_group(process.pid, True)
        return process.pid

    def screen(self) -> Screen:
        """The current screen; after the program's end, the last one."""
        return self._emulator.screen()

    async def until_quiet(self, quiet_ms: int, cap_ms: int) -> bool:
        """Wait until nothing was written for `quiet_ms`, or the program has ended; False after `cap_ms`."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        until = start + cap_ms / 1000
        while True:
            now = loop.time()
            since = now - max(self._last_output, start)
            if since >= quiet_ms / 1000 or self._is_over():
                return True
            if now >= until:
                return False
            await self._output_within(min(quiet_ms / 1000 - since, until - now, _POLL_S))

    async def until_written(self, within_ms: int) -> bool:
        """Wait until the program writes something; False after `within_ms`, or if it has ended."""
        loop = asyncio.get_running_loop()
        start, before = loop.time(), self._last_output
        while self._last_output == before:
            now = loop.time()
            if now >= start + within_ms / 1000 or self._is_over():
                return False
            await self._output_within(min(start + within_ms / 1000 - now, _POLL_S))
        return True

    async def until_shown(self, text: str, within_ms: int) -> bool:
        """Wait until a text is on the screen ("": any text); False after `within_ms`, or if the program ends."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_ms / 1000
        while True:
            shown = self.screen().text
            if text in shown if text else bool(shown.strip()):
                return True
            now = loop.time()
            if now >= until or self._is_over():
                return False
            await self._output_within(min(until - now, _POLL_S))

    async def send(self, text: str, keys: Sequence[str], *, paste: bool = False, env: str = "") -> None:
        """Type a text, or the value of a variable, then press keys."""
        if env:
            if env not in self._secrets:
                raise TerminalError(f"the variable {env} has no value that could be typed")
            text = self._secrets[env]
        process = self._process
        if process is None or process.exit_status is not None:
            raise TerminalError(f"the program has ended{_with_status(self.exit_status)}: no input can be typed")
        emulator = self._emulator
        try:
            strokes = [
                keys_bytes(group, application_cursor=emulator.uses_application_cursor) for group in _groups(keys)
            ]
        except ValueError as error:
            raise TerminalError(str(error)) from error
        if paste:
            typed = paste_bytes(text, bracketed=emulator.takes_bracketed_paste)
        else:
            typed = text.replace("\r\n", "\n").replace("\n", "\r").encode("utf-8", "surrogateescape")
        await process.write(typed + b"".join(strokes[:1]))
        for stroke in strokes[1:]:
            await process.until_read(ESCAPE_READ_S)
            await asyncio.sleep(ESCAPE_PAUSE_S)
            await process.write(stroke)

    async def close(self) -> int | None:
        """End the program and all processes that it has started; returns the exit status."""
        process, self._process = self._process, None
        if process is None:
            return self._last_status
        before = process.exit_status
        try:
            self._last_status = before if before is not None else await process.close()
        finally:
            if before is not None:  # the program ended by itself; its children may still run
                await process.close()
            self._on_group(process.pid, False)
        return self._last_status

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal."""
        self._size = (columns, lines)
        self._emulator.resize(columns, lines)
        if self._process is not None:
            self._process.resize(self._size)

    def kill(self) -> None:
        """KILL at once, for a caller that cannot wait for `close`."""
        if self._process is not None:
            self._process.kill()

    def _end_leftovers(self) -> None:
        """End the processes that a killed rawko has left, so that none runs beside the new program."""
        self._before_launch()
        family.end(marked(self._mark))

    # ------------------------------------------------------------ output

    def _take(self, emulator: Emulator, data: bytes) -> None:
        emulator.feed(data)
        self._last_output = asyncio.get_running_loop().time()
        self._written.set()

    def _answer(self, text: str) -> None:
        if self._process is not None:
            self._process.answer(text.encode())

    def _is_over(self) -> bool:
        """Whether the program has ended and its last output was read, or the time for reading it is over."""
        process = self._process
        if process is None:
            return True
        quiet_s = asyncio.get_running_loop().time() - self._last_output
        return process.exit_status is not None and (process.is_hung_up or min(quiet_s, process.ended_s) >= DRAIN_S)

    async def _output_within(self, seconds: float) -> None:
        """Wait until something is written, at most `seconds`."""
        self._written.clear()
        try:
            async with asyncio.timeout(max(seconds, 0.001)):
                await self._written.wait()
        except TimeoutError:
            return


def terminal_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: describes only this terminal, with UTF-8."""
    kept = {name: value for name, value in environ.items() if name not in _STALE}
    if "UTF-8" not in (kept.get("LC_ALL") or kept.get("LC_CTYPE") or kept.get("LANG") or "").upper().replace(
        "UTF8", "UTF-8"
    ):
        kept.pop("LC_ALL", None)
        kept["LC_CTYPE"] = "C.UTF-8"
    return kept | _SETTINGS


def find_program(name: str, environ: Mapping[str, str], cwd: str) -> str | None:
    """An error message about the name of a program; None if it can be executed."""
    if not name:
        return "the command is empty"
    if os.sep in name:
        path = os.path.join(cwd, name)  # noqa: PTH118 - Path would change the name
        if not os.path.exists(path):  # noqa: PTH110
            return f"there is no program {name!r}"
        if os.path.isdir(path) or not os.access(path, os.X_OK):  # noqa: PTH112
            return f"{name!r} is not executable"
        return None
    if shutil.which(name, path=environ.get("PATH", os.defpath)) is None:
        return f"there is no program {name!r} on PATH"
    return None


def _groups(keys: Sequence[str]) -> list[list[str]]:
    """The keys, split after each escape: ["up", "escape", "a"] gives [["up", "escape"], ["a"]]."""
    groups: list[list[str]] = [[]]
    for key in keys:
        groups[-1].append(key)
        if key.lower() in ("escape", "esc", "ctrl-["):
            groups.append([])
    return [group for group in groups if group]


def _with_status(status: int | None) -> str:
    return "" if status is None else f" with status {status}"
