"""Keys by their names, and what they send."""

from __future__ import annotations

import pytest

from rawko.machines.node_engine.explore.keynames import KEY_NAMES, require_key
from rawko.terminal.keys import key_bytes, keys_bytes, paste_bytes


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("enter", b"\r"),
        ("ctrl-c", b"\x03"),
        ("Ctrl-C", b"\x03"),
        ("up", b"\x1b[A"),
        ("ctrl-right", b"\x1b[1;5C"),
        ("shift-tab", b"\x1b[Z"),
        ("f1", b"\x1bOP"),
        ("f12", b"\x1b[24~"),
        ("alt-x", b"\x1bx"),
        ("alt-enter", b"\x1b\r"),
        ("alt-up", b"\x1b[1;3A"),
        ("q", b"q"),
        ("G", b"G"),
        ("é", "é".encode()),
        ("-", b"-"),
        ("alt--", b"\x1b-"),
    ],
)
def test_what_keys_send(key: str, sent: bytes) -> None:
    assert key_bytes(key) == sent


def test_arrows_as_the_program_asks_for_them() -> None:
    assert keys_bytes(["up", "home", "ctrl-up"], application_cursor=True) == b"\x1bOA\x1bOH\x1b[1;5A"


def test_every_name_sends_something_and_no_two_the_same_but_synonyms() -> None:
    sent = {name: key_bytes(name) for name in KEY_NAMES}
    assert all(sent.values())
    synonyms = {"return", "esc", "ctrl-[", "ctrl-@", "ctrl-m", "ctrl-i", "space"}
    distinct = [value for name, value in sent.items() if name not in synonyms]
    assert len(set(distinct)) == len(distinct)


@pytest.mark.parametrize("key", ["entr", "", "ctrl-", "ctrl-ä", "f13", "alt-", "alt-entr", "\n", "control-c"])
def test_what_is_no_key_is_refused_with_the_nearest(key: str) -> None:
    with pytest.raises(ValueError, match="is no key"):
        require_key(key)


def test_the_nearest_name_is_told() -> None:
    with pytest.raises(ValueError, match="did you mean 'enter'"):
        require_key("entr")


def test_a_paste_cannot_end_itself() -> None:
    assert paste_bytes("a\nb", bracketed=True) == b"\x1b[200~a\rb\x1b[201~"
    assert paste_bytes("x\x1b[20\x1b[201~1~rm", bracketed=True).count(b"\x1b") == 2
    assert paste_bytes("a\r\nb", bracketed=False) == b"a\rb"
