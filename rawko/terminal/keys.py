"""Maps names of keys to bytes: "enter", "ctrl-c", "up", "shift-tab", "f1", "alt-x", or a letter. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rawko.machines.node_engine.explore.keynames import KEY_NAMES, require_key

ESC: Final = "\x1b"

_PLAIN: Final[Mapping[str, str]] = {
    "enter": "\r",
    "return": "\r",
    "tab": "\t",
    "shift-tab": "\x1b[Z",
    "escape": ESC,
    "esc": ESC,
    "space": " ",
    "backspace": "\x7f",
    "insert": "\x1b[2~",
    "delete": "\x1b[3~",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "ctrl-space": "\x00",
    "ctrl-@": "\x00",
    "ctrl-[": ESC,
    "ctrl-\\": "\x1c",
    "ctrl-]": "\x1d",
    "ctrl-^": "\x1e",
    "ctrl-_": "\x1f",
    **{f"ctrl-{letter}": chr(ord(letter) - ord("a") + 1) for letter in "abcdefghijklmnopqrstuvwxyz"},
    **dict(zip(("f1", "f2", "f3", "f4"), ("\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS"), strict=True)),
    **{f"f{n}": f"\x1b[{code}~" for n, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)},
}
_CURSOR: Final[Mapping[str, str]] = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_MODIFIERS: Final[Mapping[str, int]] = {"shift": 2, "alt": 3, "ctrl": 5}


def key_bytes(key: str, *, application_cursor: bool = False) -> bytes:
    """The bytes that a key sends.

    Args:
        application_cursor: Use the arrow keys' other sequences, which a program can request (DECCKM).

    Raises:
        ValueError: There is no such key; the message names the nearest one.
    """
    name = require_key(key)
    return _text(name, application_cursor).encode("utf-8", "surrogateescape")


def keys_bytes(keys: Iterable[str], *, application_cursor: bool = False) -> bytes:
    """The bytes that several keys send, one after the other.

    Raises:
        ValueError: There is no key of one of these names.
    """
    return b"".join(key_bytes(key, application_cursor=application_cursor) for key in keys)


def paste_bytes(text: str, *, bracketed: bool) -> bytes:
    """Text as a terminal pastes it: in brackets if the program requests them; escapes in the text are removed."""
    cleaned = text.replace(ESC, "").replace("\r\n", "\n").replace("\n", "\r")
    return (f"\x1b[200~{cleaned}\x1b[201~" if bracketed else cleaned).encode("utf-8", "surrogateescape")


def _text(name: str, application_cursor: bool) -> str:
    if len(name) == 1:
        return name
    if name in _PLAIN:
        return _PLAIN[name]
    if name in _CURSOR:
        return f"{ESC}{'O' if application_cursor else '['}{_CURSOR[name]}"
    modifier, _, base = name.partition("-")
    if base in _CURSOR and modifier in _MODIFIERS:
        return f"{ESC}[1;{_MODIFIERS[modifier]}{_CURSOR[base]}"
    return ESC + _text(base, application_cursor)  # alt and anything


assert set(_PLAIN) | set(_CURSOR) <= set(KEY_NAMES), "every key with bytes has a name"
