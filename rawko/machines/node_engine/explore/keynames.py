"""The names of keys, as policies and models write them. What they send is the terminal's business. Pure."""

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
"""All keys with a name; besides, every printable character is a key, and "alt-" goes before any of them."""

_KNOWN: Final = frozenset(KEY_NAMES)


def require_key(key: str) -> str:
    """The key as it is looked up: names in lower case, characters as they are.

    Raises:
        ValueError: There is no such key; the message has the nearest name.
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
