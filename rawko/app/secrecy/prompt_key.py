"""The secret key with which a run marks the parts of its prompts: one file per state folder, one derived key per run.

A resumed run gets the same key. Authors of prompt parts (files, models) cannot read it: the file is in the state
folder, with permissions for the user alone.
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

FILE: Final = "prompt.key"
_BYTES: Final = 32


def prompt_key(state_dir: Path, run: str) -> bytes:
    """The key of a run's prompts; if the file cannot be written, a key that is valid in this process only."""
    return hmac.digest(_secret(state_dir / FILE), run.encode("utf-8", "surrogateescape"), "sha256")


def _secret(path: Path) -> bytes:
    made = secrets.token_bytes(_BYTES)
    for _ in range(2):
        try:
            if len(found := path.read_bytes()) >= _BYTES:
                return found
            path.unlink()  # incomplete: its writer was interrupted
        except FileNotFoundError:
            pass
        except OSError:
            return made
        _keep(path, made)
    return made


def _keep(path: Path, secret: bytes) -> None:
    """Create the file atomically, unless another process has created it first."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secret)
            os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
