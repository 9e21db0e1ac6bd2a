"""Which rawko this is, for runs that are begun by one and gone on with by another: its version and its charts."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final

from rawko import __version__
from rawko.chart.shipped import shipped_path

_DIGITS: Final = 8


@cache
def own_release() -> str:
    """Such as "0.1.0+1f0a2b3c": the version, and a piece of the hash of all shipped charts, which an edited
    installation of the same version has another one of."""
    digest = hashlib.sha256()
    folder = shipped_path("statecharts")
    for path in sorted(folder.rglob("*.yaml")):
        digest.update(f"{path.relative_to(folder)}\0".encode())
        digest.update(path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:_DIGITS]}"
