"""Finds the event descriptors that match an event, and lists the events that the interpreter creates."""

from __future__ import annotations

from collections.abc import Iterator

GENERATED = ("after.", "done.", "each.", "error.", "rawko.")
"""Events that the interpreter creates; charts do not declare them."""


def descriptors(event: str) -> Iterator[str]:
    """Every descriptor that matches an event, or all events of a descriptor; the given one first.

    "job.done"    job.done, job.done.*, job.*, *
    """
    yield event
    parts = event.removesuffix(".*").split(".")
    for end in range(len(parts), 0, -1):
        yield ".".join(parts[:end]) + ".*"
    if not event.startswith(_NOT_WILD):
        yield "*"


_NOT_WILD = ("after.", "rawko.", "error.")
