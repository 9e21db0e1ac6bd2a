"""Event descriptors of XState and of the chart language, both ways, and the order in which each asks them."""

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
    """A descriptor in the chart's words; None for what has none.

    Args:
        names: XState's ids of states, invocations and timers, with their prefix, to the chart's events.
    """
    if descriptor in names:
        return names[descriptor]
    known = dict(_WILDCARDS).get(descriptor)
    if known is not None:
        return known
    return None if descriptor.startswith("xstate.") else descriptor


def to_xstate(descriptor: str, timers: Mapping[str, str]) -> str | None:
    """A descriptor in XState's words; None for what has none. `timers`: XState's events by the chart's."""
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
    """As XState asks them: exact ones as written, then the longest wildcard first."""
    return sorted(descriptors, key=lambda each: (1, -len(each)) if is_wildcard(each) else (0, 0))


def is_wildcard(descriptor: str) -> bool:
    return descriptor == "*" or descriptor.endswith(".*")


def covers(general: str, special: str) -> bool:
    """Whether the chart's descriptor `general` matches all that `special` matches, and is not the same."""
    if general == special:
        return False
    if general == "*":
        return not special.startswith(_OWN)
    if not general.endswith(".*"):
        return False
    prefix = general[:-2]
    return special == prefix or special.startswith(f"{prefix}.")
