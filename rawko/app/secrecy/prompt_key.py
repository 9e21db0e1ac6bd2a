"""The secret from which the marks of a run's prompts are made: one file per state folder, and of it one key per run.

A run that goes on in another process has the same marks. No writer of a part of a prompt can read it: it lies in the
state folder, with the user's rights alone.
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
    """The key of a run's prompts. Where the file cannot be kept, one that holds for this process alone."""
    return hmac.digest(_secret(state_dir / FILE), run.encode("utf-8", "surrogateescape"), "sha256")


def _secret(path: Path) -> bytes:
    made = secrets.token_bytes(_BYTES)
    for _ in range(2):
        try:
            if len(found := path.read_bytes()) >= _BYTES:
                return found
            path.unlink()  # cut off while it was written
        except FileNotFoundError:
            pass
        except OSError:
            return made
        _keep(path, made)
    return made


def _keep(path: Path, secret: bytes) -> None:
    """Put the file there whole, unless another process has been faster."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secret)
            os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
