"""The names of keys in policies and models' answers. The terminal maps them to bytes. Pure."""

from __future__ import annotations

import string
from typing import Final

from rawko.vocabulary.documents import accepted

CURSOR_KEYS: Final = ("up", "down", "right", "left", "home", "end")

KEY_NAMES: Final[tuple[str, ...]] = (
    *("enter", "return", "tab", "shift-tab", "escape", "esc", "space", "backspace", "insert", "delete"),
    *("pageup", "pagedown", *CURSOR_KEYS),
    *(f"f{number}" for number in range(1, 13)),
    *(f"ctrl-{letter}" for letter in string.ascii_lowercase),
    *("ctrl-space", "ctrl-@", "ctrl-[", "ctrl-\\", "ctrl-]", "ctrl-^", "ctrl-_"),
    *(f"{modifier}-{key}" for modifier in ("shift", "alt", "ctrl") for key in CURSOR_KEYS),
)
"""All named keys; every printable character is a key as well, and "alt-" may precede any key."""

_KNOWN: Final = frozenset(KEY_NAMES)


def require_key(key: str) -> str:
    """The key in its normal form: names in lower case, single characters unchanged.

    Raises:
        ValueError: No such key; the message has the nearest name.
    """
    if len(key) == 1:
        if key.isprintable():
            return key
        raise ValueError(f"{key!r} is no key{accepted(KEY_NAMES, found=key, label='keys')}")
    name = key.lower()
    if name in _KNOWN:
        return name
    if name.startswith("alt-") and len(key) > 4:
        return "alt-" + require_key(key[4:])
    raise ValueError(f"{key!r} is no key{accepted(KEY_NAMES, found=name, label='keys')}, or one character")
