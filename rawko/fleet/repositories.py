"""The repository of a task: parses what a person names, and clones it on a worker.

A submitted repository may be hostile, and so is its clone: git runs none of its hooks, fetches no submodule, uses only
https, ssh, git and local folders, and never asks for a password. In the submitter's own folder git also fetches nothing
and runs no filter that the folder's own configuration names. What the repository requests of rawko needs trust, as
always.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rawko.fleet.errors import FleetError
from rawko.fleet.task import Repository
from rawko.processes.private import make_private
from rawko.tools.commands.environment import command_environment

_SCHEMES: Final = ("https", "http", "ssh", "git", "file")
_SCP: Final = re.compile(r"(?:[A-Za-z0-9_.-]+@)?[A-Za-z0-9_.-]+:(?!//|:)(?P<path>[^@\s]+)(?:@(?P<revision>.+))?")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SAFE: Final = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never"),
    *("-c", "submodule.recurse=false", "-c", "init.templateDir="),
)
_IN_PLACE: Final = {
    "GIT_ALLOW_PROTOCOL": "none",  # a repository that lacks objects would fetch them with programs of its own choice
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
_FILTERS: Final = r"^filter\..*\.(clean|smudge|process|required)$"
_CLONE_S: Final = 1800
_WORDS: Final = 600
_ACCEPTED: Final = "accepted: a folder with a git repository, https://…, ssh://… or USER@HOST:PATH, each with @REV"


def parse_repository(text: str, folder: Path) -> Repository:
    """Parse `DIR` or `URL`, either with `@REV`, as a person types it.

    Args:
        folder: Base of relative paths.

    Raises:
        FleetError: The text names no repository; the message says what is accepted.
    """
    if not text or "\0" in text or text.startswith("-"):
        raise FleetError(f"--repo: {text!r} names no repository; {_ACCEPTED}")
    if "://" in text:
        return _of_url(text)
    path = folder / Path(text).expanduser()
    if path.is_dir():
        return _of_folder(path, "")
    before, at, after = text.rpartition("@")
    if at and after and (folder / Path(before).expanduser()).is_dir():
        return _of_folder(folder / Path(before).expanduser(), after)
    match = _SCP.fullmatch(text)
    if match is not None and "/" not in text.partition(":")[0]:
        revision = match["revision"] or ""
        address = text.removesuffix(f"@{revision}") if revision else text
        return Repository(address, _checked(revision))
    raise FleetError(f"--repo: there is no folder {text!r}; {_ACCEPTED}")


def _of_url(text: str) -> Repository:
    try:
        parts = urlsplit(text)
        password = parts.password
    except ValueError as error:
        raise FleetError(f"--repo: this is no URL: {error}; {_ACCEPTED}") from error
    if parts.scheme not in _SCHEMES:
        raise FleetError(f"--repo: git is not asked for {parts.scheme!r} addresses; {_ACCEPTED}")
    if password is not None or (parts.username and parts.scheme in ("http", "https")):
        raise FleetError(
            "--repo: the URL holds a user or a password, which the agent could read; give the workers a credential "
            "helper of git, or an ssh key, and leave it out"
        )
    _, at, revision = parts.path.partition("@")
    address = text[: len(text) - len(revision) - 1] if at and text.endswith(f"@{revision}") else text
    return Repository(address, _checked(revision if address != text else ""))


def _of_folder(path: Path, revision: str) -> Repository:
    path = path.resolve()
    revision = _checked(revision) or "HEAD"
    commit = _git_in(path, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if commit.returncode != 0:
        inside = _git_in(path, "rev-parse", "--git-dir")
        if inside.returncode != 0:
            raise FleetError(f"--repo: {str(path)!r} is no git repository ({_told(inside)}); {_ACCEPTED}")
        raise FleetError(f"--repo: {str(path)!r} has no commit {revision!r}")
    top = _git_in(path, "rev-parse", "--show-toplevel").stdout.strip()
    return Repository(top or str(path), commit.stdout.strip())


def _checked(revision: str) -> str:
    if revision.startswith("-") or any(character.isspace() or character in "~^:?*[\\" for character in revision):
        raise FleetError(f"--repo: {revision!r} is no revision; accepted: a commit, a tag or a branch")
    return revision


def is_fixed(repository: Repository) -> bool:
    """Whether the content cannot change: the revision is a full commit id, or there is no repository."""
    return not repository.address or _COMMIT.fullmatch(repository.revision) is not None


def uncommitted(repository: Repository) -> int:
    """The number of files of a local repository that a clone would not contain as they are now; 0 for a URL."""
    if not repository.address.startswith("/"):
        return 0
    folder = Path(repository.address)
    off = dict(_without_filters(folder))
    numbered = {
        f"GIT_CONFIG_{word}_{number}": text
        for number, setting in enumerate(off.items())
        for word, text in zip(("KEY", "VALUE"), setting, strict=True)
    }
    environ = {"GIT_CONFIG_COUNT": str(len(off)), **numbered}
    done = _git_in(folder, "status", "--porcelain", "--ignore-submodules=dirty", environ=environ)
    return len(done.stdout.splitlines()) if done.returncode == 0 else 0


def _without_filters(folder: Path) -> Iterator[tuple[str, str]]:
    """Settings that turn off the filters of a repository's own configuration; those of the user stay."""
    told = _git_in(folder, "config", "--null", "--show-scope", "--get-regexp", _FILTERS).stdout.split("\0")
    for scope, setting in zip(told[::2], told[1::2], strict=False):
        if scope in ("local", "worktree"):
            name = setting.partition("\n")[0]
            yield name, "false" if name.endswith(".required") else ""


def make_workspace(repository: Repository, workspace: Path) -> None:
    """Create a folder with the files of a repository at its revision; an existing complete folder is left unchanged.

    Raises:
        FleetError: Cloning failed; with git's message. `is_retryable`: network or disk may work again soon.
    """
    if workspace.is_dir():
        return
    try:
        make_private(workspace.parent)
        new = workspace.with_name(f".{workspace.name}.{secrets.token_hex(4)}")
        try:
            if repository.address:
                _clone(repository, new)
            else:
                new.mkdir(mode=0o700)
            new.rename(workspace)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise FleetError(
            f"the folder {str(workspace)!r} cannot be made: {error.strerror or error}", is_retryable=True
        ) from error


def _clone(repository: Repository, folder: Path) -> None:
    words = ["clone", "--quiet", "--no-checkout", "--template=", "--no-recurse-submodules"]
    done = _git(*words, "--", repository.address, str(folder), timeout_s=_CLONE_S)
    if done.returncode == 0:
        # A branch exists as the remote's; a tag or a commit under its own name.
        revisions = [f"refs/remotes/origin/{repository.revision}", repository.revision] if repository.revision else [""]
        for revision in revisions:
            where = ["--detach", revision] if revision else []
            done = _git("-C", str(folder), "checkout", "--quiet", *where, "--", timeout_s=_CLONE_S)
            if done.returncode == 0:
                return
    raise FleetError(f"the repository {str(repository)!r} cannot be cloned: {_told(done)}", is_retryable=True)


def _told(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return "; ".join(lines)[-_WORDS:] or f"git ended with {done.returncode}"


def _environ() -> Mapping[str, str]:
    own = command_environment(os.environ, ("SSH_AUTH_SOCK", "GIT_SSH_COMMAND"))
    own.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    return {**own, "LC_ALL": "C", "GIT_ASKPASS": "true", "GIT_LFS_SKIP_SMUDGE": "1"}


def _git_in(folder: Path, *words: str, environ: Mapping[str, str] = _IN_PLACE) -> subprocess.CompletedProcess[str]:
    """git in a folder of the submitter, which it only looks at."""
    return _git("-C", str(folder), *words, timeout_s=60, environ={**_IN_PLACE, **environ})


def _git(*words: str, timeout_s: int, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", *_SAFE, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env={**_environ(), **(environ or {})},
            timeout=timeout_s,
        )
    except FileNotFoundError as error:
        raise FleetError("git is not installed on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise FleetError(f"git has not ended within {timeout_s} s: {' '.join(words[:2])}", is_retryable=True) from error
