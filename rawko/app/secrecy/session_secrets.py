"""The keys and passwords of a session, which are masked in all texts."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from rawko.config import Settings
from rawko.processes.keys import is_secret
from rawko.vocabulary.masking import MIN_CHARS, Masker


def session_secrets(environ: Mapping[str, str], *addresses: str | None) -> dict[str, str]:
    """Names by secret value: of variables that are named like keys, and of passwords in addresses.

    Args:
        addresses: URLs from settings, which may hold a password.
    """
    found: dict[str, str] = {}
    for name, value in environ.items():
        if "://" in value:
            found |= dict.fromkeys(_passwords(value), name)
        elif is_secret(name, value) and not value.startswith("/"):
            found[value] = name
    for address in addresses:
        found |= dict.fromkeys(_passwords(address or ""), "password")
    return {value: name for value, name in found.items() if len(value) >= MIN_CHARS}


def masker_of(settings: Settings) -> Masker:
    """Masks the keys of the settings' session in texts."""
    return Masker(session_secrets(settings.environ, settings.base_url, settings.openai_base_url))


def _passwords(address: str) -> set[str]:
    """The secret in an address, as it is and decoded: the password, or a user name without password (a token)."""
    try:
        parts = urlsplit(address)
        told = parts.password or parts.username or ""
    except ValueError:
        return set()
    return {told, unquote(told)} - {""}
