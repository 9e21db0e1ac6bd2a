"""The conformance suite for stores of packs: functions that a test calls with a function that opens an empty store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from rawko.workspace.packs.port import Pack, PackError, PackStore

Open = Callable[[], PackStore]
"""Opens the same store as another process would."""


def _pack(epoch: int, number: int, data: bytes, level: int = 0) -> Pack:
    return Pack(epoch, number, level, hashlib.sha1(data, usedforsecurity=False).hexdigest(), len(data))


def gives_back_what_was_put(opened: Open) -> None:
    """Packs are returned in order, complete, and per run; an unknown run has none."""
    one, other = opened(), opened()
    assert not other.packs("run")
    epoch = one.begin("run")
    large = bytes(range(256)) * 80_000
    packs = [(_pack(epoch, 1, b"first"), b"first"), (_pack(epoch, 2, large), large)]
    for pack, data in packs:
        one.put("run", pack, data)
    assert list(other.packs("run")) == [pack for pack, _ in packs]
    assert [other.get("run", pack) for pack, _ in packs] == [data for _, data in packs]
    assert not other.packs("run2")


def goes_on_after_others(opened: Open) -> None:
    """The packs of a later process are listed after those of an earlier one, whatever their numbers."""
    one, other = opened(), opened()
    first = _pack(one.begin("run"), 7, b"first")
    one.put("run", first, b"first")
    second = _pack(other.begin("run"), 1, b"second")
    other.put("run", second, b"second")
    assert second.epoch > first.epoch
    assert list(one.packs("run")) == [first, second]


def refuses_a_process_that_was_replaced(opened: Open) -> None:
    """The packs of a replaced process are refused and not stored; other runs are not affected."""
    one, other = opened(), opened()
    old, elsewhere = one.begin("run"), one.begin("other")
    other.begin("run")
    try:
        one.put("run", _pack(old, 1, b"late"), b"late")
    except PackError as error:
        assert error.is_replaced
        assert not error.is_retryable
    else:
        raise AssertionError("a process that was replaced has put a pack")
    assert not other.packs("run")
    one.put("other", _pack(elsewhere, 1, b"x"), b"x")


def puts_one_in_place_of_others(opened: Open) -> None:
    """The replaced packs are removed, and fetching one raises an error that asks to list again."""
    one, other = opened(), opened()
    epoch = one.begin("run")
    small = [_pack(epoch, number, b"%d" % number) for number in (1, 2, 3)]
    for number, pack in enumerate(small, 1):
        one.put("run", pack, b"%d" % number)
    seen = other.packs("run")
    whole = _pack(epoch, 4, b"123", level=1)
    one.put("run", whole, b"123", instead_of=small[:2])
    assert list(other.packs("run")) == [small[2], whole]
    try:
        other.get("run", seen[0])
    except PackError as error:
        assert error.is_retryable
    else:
        raise AssertionError("a pack that is gone was given")


def forgets(opened: Open) -> None:
    """All packs of a run are removed, and none of others; an unknown run is no error."""
    one = opened()
    one.put("run", _pack(one.begin("run"), 1, b"x"), b"x")
    kept = _pack(one.begin("other"), 1, b"y")
    one.put("other", kept, b"y")
    one.forget("run")
    one.forget("unknown")
    assert not one.packs("run")
    assert list(one.packs("other")) == [kept]


CHECKS: Final[tuple[Callable[[Open], None], ...]] = (
    gives_back_what_was_put,
    goes_on_after_others,
    refuses_a_process_that_was_replaced,
    puts_one_in_place_of_others,
    forgets,
)
