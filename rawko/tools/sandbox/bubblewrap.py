"""Commands in a sandbox of the kernel's own parts, put up by bubblewrap: the workspace writable, nothing else.

What a command has in there: every file of the machine to read, the workspace to write (but for what git and rawko obey
later, see `baseline`), a `/tmp` and `/run` of its own that are empty and gone with it, process numbers of its own, no
network and no other process's memory, signals or sockets by network name. It ends with us, and with it everything that
it has started. Linux only; nothing is made up where bubblewrap is not there or the kernel says no.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rawko.processes.private import make_private
from rawko.tools.sandbox.baseline import Baseline, TooManyError, load, take_baseline
from rawko.tools.sandbox.quarantine import Quarantine
from rawko.tools.sandbox.repositories import Pointers

_PROBE_S: Final = 20
_MAX_CHARS: Final = 1_000_000
"""Of a command line; the system takes 2 MiB, the environment included."""

_ISOLATED: Final = (
    *("--die-with-parent", "--unshare-user-try", "--unshare-pid", "--unshare-net", "--unshare-ipc"),
    *("--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"),
)
PRIVATE: Final = ("/tmp", "/var/tmp", "/run")
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
        shown: Folders that commands may read even where they lie in a private one, and never write: the state folder,
            whose kept outputs the model is told of, and rawko's installation.
        obeyed: Further places that are obeyed by their path: the user's own configuration of git and rawko.
        kept: Folder for what is moved out of the workspace after a command.
        record: File that holds the baseline while a command runs.
    """

    program: str
    root: Path
    shown: tuple[Path, ...] = ()
    obeyed: tuple[Path, ...] = ()
    kept: Path | None = None
    record: Path | None = None
    _pointers: Pointers = field(default_factory=Pointers)

    def begin(self) -> tuple[list[str], Baseline]:
        """Look at the workspace before a command that may write.

        Returns:
            What was done about a command whose rawko was killed, in words for the model; and what is there now.

        Raises:
            TooManyError: It holds more repositories than can be guarded.
        """
        told = self._settle_after_a_crash()
        baseline = take_baseline(self.root, self._pointers, (*self.shown, *self.obeyed))
        if self.record is not None:
            with suppress(OSError):  # without it only a crash leaves what is new where it is
                make_private(self.record.parent)
                self.record.write_text(json.dumps(baseline.as_json()), encoding="ascii")
        return told, baseline

    def settle(self, baseline: Baseline) -> list[str]:
        """Move out what is new and obeyed, once nothing of the command runs; what was done, in words for the model."""
        kept = self.kept or Path(tempfile.mkdtemp(prefix="rawko-quarantine-"))
        told = Quarantine(kept).settle(baseline)
        if self.record is not None:
            self.record.unlink(missing_ok=True)
        return told

    def _settle_after_a_crash(self) -> list[str]:
        left = None if self.record is None else load(self.record)
        return [] if left is None or left.root != self.root else self.settle(left)

    def command(
        self, argv: Sequence[str], *, folder: str, baseline: Baseline | None = None, denied: Sequence[str] = ()
    ) -> list[str]:
        """The command line that runs `argv` inside, in `folder`.

        Args:
            baseline: What `begin` gave; without one the workspace is read-only.
            denied: Options of bubblewrap that come after all others: what rules forbid to be executed.

        Raises:
            TooManyError: It is longer than the system takes.
        """
        words = [self.program, *_ISOLATED, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        private = [one for one in map(Path, PRIVATE) if one.is_dir() and not one.is_symlink()]
        for hidden in private:
            words += ["--tmpfs", str(hidden)]
        words += _bound(one for one in self.shown if any(one.is_relative_to(hidden) for hidden in private))
        words += ["--ro-bind" if baseline is None else "--bind", str(self.root), str(self.root)]
        if baseline is not None:
            # After the workspace, and each folder before what is in it, so that none opens another again.
            mounts = dict.fromkeys(baseline.fixed(), "--bind") | dict.fromkeys(baseline.read_only(), "--ro-bind")
            for place in sorted(mounts):
                words += [mounts[place], str(place), str(place)]
        words = [*words, *denied, "--chdir", folder, "--", *argv]
        if sum(map(len, words)) > _MAX_CHARS:
            raise TooManyError("the sandbox cannot be put up: the paths of the repositories to guard are too long")
        return words


def _bound(places: Iterable[Path]) -> Iterator[str]:
    """Options that make what is there of them readable and no more."""
    for place in places:
        if os.path.lexists(place):
            yield from ("--ro-bind", str(place), str(place))


def find_sandbox(
    root: Path,
    *,
    shown: Sequence[Path] = (),
    obeyed: Sequence[Path] = (),
    kept: Path | None = None,
    record: Path | None = None,
    path: str | None = None,
) -> Sandbox:
    """A sandbox that has been tried.

    Args:
        shown, obeyed, kept, record: See `Sandbox`.
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
    if root in shown:
        raise SandboxError(f"{str(root)!r} is rawko's own folder, which no command may write; work in another one")
    sandbox = Sandbox(program, root, tuple(shown), tuple(obeyed), kept, record)
    try:
        tried = subprocess.run(
            sandbox.command(["true"], folder=str(root)),
            stdin=subprocess.DEVNULL,
            env={"PATH": os.defpath},
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
