"""Converts event descriptors between XState and the chart language, and orders them as XState tries them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_PREFIXES = (
    ("xstate.done.actor.", "done.invoke."),
    ("xstate.error.actor.", "error.invoke."),
    ("xstate.done.state.", "done.state."),
)
_WILDCARDS = (
    ("xstate.done.actor.*", "done.invoke.*"),
    ("xstate.done.state.*", "done.state.*"),
    ("xstate.done.*", "done.*"),
    ("xstate.error.actor.*", "error.invoke.*"),
    ("xstate.error.*", "error.*"),
    ("xstate.after.*", "after.*"),
)
_OWN = ("after.", "rawko.", "error.")
"""Prefixes of events that `*` does not match."""


def from_xstate(descriptor: str, names: Mapping[str, str]) -> str | None:
    """A descriptor in the chart language; None if it has none.

    Args:
        names: Maps XState's ids of states, invocations and timers, with their prefix, to the chart's events.
    """
    if descriptor in names:
        return names[descriptor]
    known = dict(_WILDCARDS).get(descriptor)
    if known is not None:
        return known
    return None if descriptor.startswith("xstate.") else descriptor


def to_xstate(descriptor: str, timers: Mapping[str, str]) -> str | None:
    """A descriptor of XState; None if it has none. `timers` maps the chart's events to XState's."""
    if descriptor in timers:
        return timers[descriptor]
    for theirs, ours in _WILDCARDS:
        if descriptor == ours:
            return theirs
    for theirs, ours in _PREFIXES:
        if descriptor.startswith(ours):
            return theirs + descriptor.removeprefix(ours)
    return None if descriptor.startswith(_OWN) else descriptor


def in_xstates_order(descriptors: Iterable[str]) -> list[str]:
    """The descriptors in the order in which XState tries them: exact ones as written, then the longest wildcard."""
    return sorted(descriptors, key=lambda each: (1, -len(each)) if is_wildcard(each) else (0, 0))


def is_wildcard(descriptor: str) -> bool:
    return descriptor == "*" or descriptor.endswith(".*")


def covers(general: str, special: str) -> bool:
    """Whether the descriptor `general` matches every event that `special` matches, and more."""
    if general == special:
        return False
    if general == "*":
        return not special.startswith(_OWN)
    if not general.endswith(".*"):
        return False
    prefix = general[:-2]
    return special == prefix or special.startswith(f"{prefix}.")
