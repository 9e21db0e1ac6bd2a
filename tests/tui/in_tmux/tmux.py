"""A shell in tmux: what it shows is read as a person sees it, what is typed arrives as from a keyboard."""

from __future__ import annotations

import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil

from tests.cli.shell import RAWKO, Shell


def processes_of(shell: Shell, word: str) -> list[psutil.Process]:
    """The rawko processes in the shell's folder with a word on their command line, the oldest first."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if {word, "rawko"} <= set(process.cmdline()) and process.cwd() == str(shell.folder):
                found.append(process)
    return sorted(found, key=lambda one: (one.create_time(), one.pid))


def has_tmux() -> bool:
    return shutil.which("tmux") is not None


class Tmux:
    """`with Tmux(shell, socket) as tmux: tmux.rawko("watch"); tmux.wait_for("running"); tmux.press("q")`."""

    def __init__(self, shell: Shell, socket: Path, width: int = 110, height: int = 36) -> None:
        self._shell = shell
        self._socket = socket
        self._size = (width, height)

    def __enter__(self) -> Tmux:
        width, height = self._size
        size = ("-x", str(width), "-y", str(height))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(self._shell.folder), "bash --norc")
        self._type("PS1='rea''dy> '; clear")
        self.wait_for("ready>")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], capture_output=True, check=False)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            env=self._shell.environ({"TERM": "xterm-256color"}),
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        return done.stdout

    def _type(self, line: str) -> None:
        self._tmux("send-keys", "-l", line)
        self._tmux("send-keys", "Enter")

    def rawko(self, *words: str) -> None:
        """Type a command line."""
        self._type(" ".join([*RAWKO, *words]))

    def in_between(self, *words: str) -> None:
        """Type a command line of `rawko` for a shell that a shell starts."""
        self._type(f"sh -c '{' '.join([*RAWKO, *words])}; exit 3'")

    def shell(self, line: str) -> None:
        """Type any line and Enter."""
        self._type(line)

    def type(self, text: str) -> None:
        """Type a text, without Enter."""
        self._tmux("send-keys", "-l", text)

    def paste(self, file: Path) -> None:
        """Paste a file's text, marked as a paste where the program wants that."""
        self._tmux("load-buffer", str(file))
        self._tmux("paste-buffer", "-p")

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names: `a`, `Enter`, `Escape`, `C-c`."""
        self._tmux("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def hang_up(self) -> None:
        """Close the terminal, as a person closes a window."""
        self._tmux("kill-server")

    @property
    def modes(self) -> str:
        """Which modes the program has left: cursor shown, mouse reported, a screen of its own, as 1 or 0 each."""
        return self._tmux("display-message", "-p", "#{cursor_flag} #{mouse_any_flag} #{alternate_on}").strip()

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    @property
    def scrollback(self) -> str:
        """Everything that was shown and not taken back, the screen included."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    def wait_for(self, text: str, timeout_s: float = 120) -> str:
        """Wait until the screen shows a text; the screen."""
        until = time.monotonic() + timeout_s
        while text not in (screen := self.screen):
            assert time.monotonic() < until, f"{text!r} was not shown:\n{screen}"
            time.sleep(0.1)
        return screen

    def wait_until_gone(self, text: str, timeout_s: float = 120) -> str:
        until = time.monotonic() + timeout_s
        while text in (screen := self.screen):
            assert time.monotonic() < until, f"{text!r} is still shown:\n{screen}"
            time.sleep(0.1)
        return screen
