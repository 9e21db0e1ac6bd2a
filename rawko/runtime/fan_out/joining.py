"""Decides when a list of calls is joined, when it cannot be any more, and its output.

    join      done when                    fails when                 output
    all       every item is done           one has failed             [output, ...] in the order of the items
    any       one is done                  every one has failed       {index, item, output}
    first     the first to end succeeded   the first to end failed    {index, item, output}
    settled   every item has ended         never                      [{index, item, status, output or error}, ...]
    quorum    N are done                   fewer than N can succeed   [{index, item, output}, ...]

An empty list is joined at once by `all` and `settled`, and fails at once otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

SHOWN: Final = 3
"""Most failures that a message lists."""


class Calls(Protocol):
    """The calls and their results so far: the context of the machine.

    Attributes:
        ended: `{index, status: "done", output}` or `{index, status: "error", error}`, in the order in which they ended.
    """

    @property
    def all_items(self) -> Sequence[Any]: ...
    @property
    def join(self) -> str: ...
    @property
    def quorum(self) -> int: ...
    @property
    def done(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def ended(self) -> Sequence[Mapping[str, Any]]: ...


def wanted(calls: Calls) -> int:
    """The number of items that must be done."""
    match calls.join:
        case "all":
            return len(calls.all_items)
        case "quorum":
            return calls.quorum
        case _:
            return 1


def is_joined(calls: Calls) -> bool:
    """Whether the invocation is done."""
    if calls.join == "settled":
        return calls.done + calls.failed == len(calls.all_items)
    return calls.done >= wanted(calls) and not (calls.join == "first" and calls.failed)


def cannot_join(calls: Calls) -> bool:
    """Whether the invocation cannot be done any more: too few items are left."""
    if calls.join == "settled":
        return False
    if calls.join == "first" and calls.failed:
        return True
    return len(calls.all_items) - calls.failed < wanted(calls)


def joined(calls: Calls) -> Any:
    """The output of an invocation that is done."""
    match calls.join:
        case "all":
            return [one["output"] for one in _in_order(calls.ended)]
        case "settled":
            return [_told(one, calls) for one in _in_order(calls.ended)]
        case "quorum":
            return [_told(one, calls, "output") for one in _in_order(_done(calls))]
        case _:
            return _told(next(_done(calls)), calls, "output")


def failure(calls: Calls) -> dict[str, Any]:
    """The error of an invocation that cannot be done, including the results of items that are done.

    The category and code are those of the item that failed first, so that a chart can branch on them.
    """
    errors = [one for one in calls.ended if one["status"] == "error"]
    first: Mapping[str, Any] = errors[0]["error"] if errors else {"category": "validation_error"}
    told = "; ".join(f"item {one['index']}: {one['error'].get('message', '')}" for one in errors[:SHOWN])
    more = f"; {len(errors) - SHOWN} more" if len(errors) > SHOWN else ""
    count, least = len(calls.all_items), wanted(calls)
    message = (
        f"{len(errors)} of {count} items failed: {told}{more}" if errors else f"{least} must be done of {count} items"
    )
    return {
        **{key: first[key] for key in ("category", "code") if key in first},
        "kind": "for_each",
        "message": message,
        "attempted": "",
        "failed": [_told(one, calls, "error") for one in _in_order(errors)],
        "done": [_told(one, calls, "output") for one in _in_order(_done(calls))],
    }


def _done(calls: Calls) -> Iterator[Any]:
    return (one for one in calls.ended if one["status"] == "done")


def _in_order(ended: Iterable[Any]) -> list[Any]:
    return sorted(ended, key=lambda one: int(one["index"]))


def _told(one: Mapping[str, Any], calls: Calls, *keys: str) -> dict[str, Any]:
    """An ended call with its item; `keys` selects parts of the call, all by default."""
    told = {key: one[key] for key in one if not keys or key in keys}
    return {"index": one["index"], "item": calls.all_items[one["index"]], **told}
