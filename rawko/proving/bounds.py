"""The bounds file of a chart: what a checker cannot read from the chart itself.

    budget_guards: [turn_limit_reached]     guards that become true after finitely many rounds, and end a cycle
    actor_events: [TEXT_DELTA]              events from outside that an actor sends, not a person
    raises: {begin_turn: [TICK]}            events that a bound action may raise; `sends:` the same for sent ones
    accepted: {cycles: "why it may fail"}   properties whose failure is known, each with its reason

It stands beside the chart as `NAME.bounds.yml`, or is named by `--bounds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from rawko.named_files import is_pipe, near_path

KEYS = ("budget_guards", "actor_events", "raises", "sends", "accepted")
MAX_BYTES = 1_000_000


class BoundsError(ValueError):
    """A bounds file cannot be used; says where and what would be accepted."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a bounds file says; see the module."""

    budget_guards: frozenset[str] = frozenset()
    actor_events: frozenset[str] = frozenset()
    raises: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sends: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    accepted: Mapping[str, str] = field(default_factory=dict)


NO_BOUNDS = Bounds()


def bounds_beside(chart: Path) -> Path | None:
    """The bounds file beside a chart; None if there is none."""
    found = chart.with_name(f"{chart.stem}.bounds.yml")
    return found if found.is_file() else None


def read_bounds(path: Path) -> Bounds:
    """The bounds of a file.

    Raises:
        BoundsError: It cannot be read, is not YAML, or holds something else.
    """
    try:
        if is_pipe(path):
            raise BoundsError(f"{path}: it is a pipe; a file is accepted")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise BoundsError(f"{path}: is larger than {MAX_BYTES} bytes")
        content = yaml.safe_load(raw.decode("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        detail = " ".join((getattr(error, "strerror", None) or str(error)).split())
        detail += near_path(path) if isinstance(error, FileNotFoundError) else ""
        raise BoundsError(f"{path}: cannot be read: {detail}") from error
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise BoundsError(
            f"{path}: found {type(content).__name__}; a mapping with the keys {', '.join(KEYS)} is accepted"
        )
    for key in content:
        if key not in KEYS:
            raise BoundsError(f"{path}: unknown key {key!r}; accepted: {', '.join(KEYS)}")
    return Bounds(
        budget_guards=frozenset(_names(path, "budget_guards", content.get("budget_guards"))),
        actor_events=frozenset(_names(path, "actor_events", content.get("actor_events"))),
        raises=_lists(path, "raises", content.get("raises")),
        sends=_lists(path, "sends", content.get("sends")),
        accepted=_reasons(path, content.get("accepted")),
    )


def _names(path: Path, key: str, found: Any) -> tuple[str, ...]:
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise BoundsError(f"{path}: {key} is {found!r}; a list of names is accepted")
    return tuple(found)


def _lists(path: Path, key: str, found: Any) -> dict[str, tuple[str, ...]]:
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise BoundsError(f"{path}: {key} is {found!r}; a mapping from actions to lists of events is accepted")
    return {name: _names(path, f"{key}.{name}", events) for name, events in found.items()}


def _reasons(path: Path, found: Any) -> dict[str, str]:
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(
        isinstance(k, str) and isinstance(v, str) and v for k, v in found.items()
    ):
        raise BoundsError(f"{path}: accepted is {found!r}; a mapping from properties to reasons is accepted")
    return dict(found)
