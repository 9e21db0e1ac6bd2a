"""The state folder: where rawko keeps what it remembers of a workspace, outside of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rawko.processes.private import make_private, touch_private
from rawko.trust.errors import ConfigError

STATE_POINTER: Final = "elsewhere"
"""A file that names the state folder to use instead, beside this one."""
_STATE_NAME_BYTES: Final = 200
"""Of the workspace's name, for people; the whole path is in the digest behind it."""


def state_dir(workspace: Path, environ: Mapping[str, str]) -> Path:
    """Where rawko keeps what it remembers of a workspace: outside of it, one folder per workspace.

    `RAWKO_STATE_DIR` replaces the user's data folder. The workspace of a fork shares the folder of its origin, and one
    that has moved keeps its own: what is there under its present name is a pointer.
    """
    own = own_state_dir(workspace, environ)
    pointer = own / STATE_POINTER
    try:
        return own.parent / os.fsdecode(pointer.read_bytes().removesuffix(b"\n"))
    except (FileNotFoundError, NotADirectoryError):
        return own
    except OSError as error:
        raise ConfigError(f"the state folder {str(own)!r} cannot be read: {error.strerror}") from error


def own_state_dir(workspace: Path, environ: Mapping[str, str]) -> Path:
    """The state folder of a workspace by its path alone."""
    digest = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:12]
    called = os.fsdecode(os.fsencode(workspace.name or "root")[:_STATE_NAME_BYTES])
    name = f"{called}-{digest}"
    base = environ.get("RAWKO_STATE_DIR")
    if base:
        return Path(base).absolute() / name
    from platformdirs import user_data_path

    return user_data_path("rawko").absolute() / name


def share_state(workspace: Path, state: Path, environ: Mapping[str, str]) -> None:
    """Let a workspace use the state folder of another one.

    Raises:
        ConfigError: It has runs of its own, or the pointer cannot be written.
    """
    own = own_state_dir(workspace, environ)
    if own == state:
        return
    if own.parent != state.parent:
        raise ConfigError(f"the state folder {str(state)!r} is not in {str(own.parent)!r}; check RAWKO_STATE_DIR")
    if any((own / "runs").glob("*/run.json")):
        raise ConfigError(f"the folder {str(workspace)!r} has runs of its own already (`rawko runs` there)")
    try:
        make_private(own)
        touch_private(own / STATE_POINTER)
        (own / STATE_POINTER).write_bytes(os.fsencode(state.name) + b"\n")
    except OSError as error:
        raise ConfigError(f"{own / STATE_POINTER}: cannot be written: {error.strerror}") from error
