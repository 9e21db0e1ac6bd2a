"""The release of this rawko, its version and its charts, for runs that one release begins and another one continues."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final

from rawko import __version__
from rawko.chart.shipped import shipped_path

_DIGITS: Final = 8


@cache
def own_release() -> str:
    """Such as "0.1.0+1f0a2b3c": the version, and part of the hash of all shipped charts, which differs in an
    installation of the same version with edited charts.
    """
    digest = hashlib.sha256()
    folder = shipped_path("statecharts")
    for path in sorted(folder.rglob("*.yaml")):
        digest.update(f"{path.relative_to(folder)}\0".encode())
        digest.update(path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:_DIGITS]}"
