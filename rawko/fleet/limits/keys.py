"""The name of a provider's key: the provider, and part of a hash that does not reveal the key."""

from __future__ import annotations

import hashlib
from typing import Final

from rawko.app.run.models.endpoints import NAMES, sign_in
from rawko.config import Settings

_SHOWN: Final = 8
"""Hexadecimal digits: enough to distinguish the keys of a fleet."""


def key_name(settings: Settings, provider: str) -> str:
    """`anthropic:1f0a2b3c` for a key at an address; the provider's name alone for one without keys."""
    if provider not in NAMES:
        return provider
    names = NAMES[provider]  # type: ignore[index]  # one of the providers that `NAMES` lists, as checked above
    environ = sign_in(settings, provider)  # type: ignore[arg-type]
    parts = [environ.get(names.address) or names.own, *(environ.get(name, "") for name in names.keys)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{provider}:{digest[:_SHOWN]}"
