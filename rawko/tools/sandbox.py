"""Commands in a sandbox of the kernel's own parts, put up by bubblewrap: the workspace writable, nothing else.

What a command has in there: every file of the machine to read, the workspace to write (but for `.git` and `.rawko`), a
`/tmp` and `/run` of its own that are empty and gone with it, process numbers of its own, no network and no other
process's memory, signals or sockets by network name. It ends with us, and with it everything that it has started.
Linux only; nothing is made up where bubblewrap is not there or the kernel says no.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Final

_PROBE_S: Final = 20
_GIT: Final = ".git"
"""What other programs run hooks from: of the workspace, and of repositories in it."""
_RULES: Final = ".rawko"
"""A run's own rules."""
_MAX_FOLDERS: Final = 20_000
"""Of the workspace, that are looked through for repositories."""
_MAX_GUARDED: Final = 500
"""More would not fit into a command line."""

_ISOLATED: Final = (
    *("--die-with-parent", "--unshare-user-try", "--unshare-pid", "--unshare-net", "--unshare-ipc"),
    *("--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"),
)
_PRIVATE: Final = ("/tmp", "/var/tmp", "/run")
"""Folders of temporary files and of sockets (a container engine's, an agent's with keys): a socket that a path leads to
can be spoken to on a read-only mount, too."""

ENVIRONMENT: Final[Mapping[str, str]] = {"TMPDIR": "/tmp", "XDG_CACHE_HOME": "/tmp/.cache"}
"""Where programs put what nobody keeps: the home folder cannot be written."""


class SandboxError(Exception):
    """There is no sandbox on this machine; the message says why, and what would help."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A way to start commands.

    Args:
        program: bubblewrap's path.
        root: The workspace, resolved.
        shown: Folders that commands may read even where they lie in a private one: the state folder, whose kept
            outputs the model is told of.
    """

    program: str
    root: Path
    shown: tuple[Path, ...] = ()

    def command(self, argv: Sequence[str], *, folder: str, is_writing: bool = True) -> list[str]:
        """The command line that runs `argv` inside, in `folder`.

        Args:
            is_writing: Whether it may write into the workspace.
        """
        words = [self.program, *_ISOLATED, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        private = [one for one in map(Path, _PRIVATE) if one.is_dir() and not one.is_symlink()]
        for hidden in private:
            words += ["--tmpfs", str(hidden)]
        words += _bound(one for one in self.shown if any(one.is_relative_to(hidden) for hidden in private))
        words += ["--bind" if is_writing else "--ro-bind", str(self.root), str(self.root)]
        # Last, so that a workspace above it does not open it again.
        words += _bound(_guarded(self.root))
        words += _bound(one for one in self.shown if one.is_relative_to(self.root))
        return [*words, "--chdir", folder, "--", *argv]


def _bound(places: Iterable[Path]) -> Iterator[str]:
    """Options that make what is there of them readable and no more."""
    for place in places:
        if os.path.lexists(place):
            yield from ("--ro-bind", str(place), str(place))


def _guarded(root: Path) -> Iterator[Path]:
    """What of the workspace cannot be written: the rules, the `.git` of it and of repositories that are in it now.

    Looked for before every command, since the one before may have moved them. A link cannot be guarded itself, but what
    it leads to.
    """
    for found in islice(chain([root / _RULES], _repositories(root)), _MAX_GUARDED):
        real = found.resolve() if found.is_symlink() else found
        if real.is_relative_to(root) and real != root:
            yield real


def _repositories(root: Path) -> Iterator[Path]:
    for folder, folders, files in islice(os.walk(root), _MAX_FOLDERS):
        if _GIT in folders:
            folders.remove(_GIT)
            yield Path(folder, _GIT)
        elif _GIT in files:
            yield Path(folder, _GIT)


def find_sandbox(root: Path, *, shown: Sequence[Path] = (), path: str | None = None) -> Sandbox:
    """A sandbox that has been tried.

    Args:
        path: Where to look for bubblewrap; the PATH of this process if None.

    Raises:
        SandboxError: bubblewrap is not there, or the kernel does not let it do its work.
    """
    if sys.platform != "linux":
        raise SandboxError(f"a sandbox needs bubblewrap, which is for Linux; this is {sys.platform}")
    program = shutil.which("bwrap", path=path)
    if program is None:
        raise SandboxError(
            "a sandbox needs bubblewrap (bwrap), which is not installed; "
            "install it (apt-get install bubblewrap, dnf install bubblewrap), or run without --sandbox"
        )
    sandbox = Sandbox(program, root, tuple(shown))
    try:
        tried = subprocess.run(
            sandbox.command(["true"], folder=str(root)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"bubblewrap ({program}) cannot be run: {error}") from error
    if tried.returncode != 0:
        said = tried.stderr.decode("utf-8", "replace").strip() or f"exit code {tried.returncode}"
        raise SandboxError(
            f"bubblewrap cannot put up a sandbox here: {said}; "
            "it needs user namespaces (in a container: allow them, or use the container as the sandbox)"
        )
    return sandbox
