"""The mark of tests that need a sandbox: where the kernel or the machine gives none, they are skipped, and say why."""

from __future__ import annotations

from pathlib import Path

import pytest

from rawko.tools.sandbox import SandboxError, find_sandbox


def why_not() -> str:
    """Why there is no sandbox here, or ""."""
    try:
        find_sandbox(Path.cwd())
    except SandboxError as error:
        return str(error)
    return ""


needs_sandbox = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is one")
