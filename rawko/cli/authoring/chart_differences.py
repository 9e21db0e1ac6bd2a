"""`rawko diff-charts A B`: what differs between two charts, state by state."""

from __future__ import annotations

import os
import posixpath
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

from rawko.chart import Chart, ChartError, load_chart
from rawko.chart.comparing import ChartDifferences, Field, Moved, StateDifferences, TransitionChange, compare_charts
from rawko.chart.definition import After, CodeValue, FixedDelay, NamedDelay, Transition
from rawko.chart.fragments.files import FragmentFiles, FragmentUnreadable
from rawko.chart.parse import parse_chart
from rawko.cli.authoring.chart_files import NoSuchChart, chart_file
from rawko.cli.output import Painter, complain, visible_json, visible_line
from rawko.render.words import action_text, actions_text, delay_text, events_text, guard_text, timers_by_event

DIFFERENT: Final = 1
_GIT: Final = (
    *("git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "protocol.allow=never"),  # a missing object would be fetched, by commands that the repository names
)
_ACCEPTED: Final = "accepted: a file, a shipped chart, or REV:FILE of a git repository"
_STYLES: Final = {"+": "green", "-": "red", "~": "yellow", "!": "yellow"}
_GIT_S: Final = 60


def diff_charts_command(before: str, after: str, *, as_json: bool, trusted: bool) -> int:
    """0: they are the same; 1: they differ; 2: one of them cannot be read."""
    try:
        old, new = (_chart(text, trusted) for text in (before, after))
    except (ChartError, NoSuchChart) as error:
        return complain(str(error))
    found = compare_charts(old, new)
    if as_json:
        print(visible_json({"is_same": not found, **_as_json(found, timers_by_event(old), timers_by_event(new))}))
    elif not found:
        print("the charts are the same")
    else:
        paint = Painter(sys.stdout)
        for line in _lines(found, timers_by_event(old), timers_by_event(new)):
            style = _STYLES.get(line.lstrip()[:1])
            print(paint(visible_line(line), style) if style else visible_line(line))
    return DIFFERENT if found else 0


def _chart(text: str, trusted: bool) -> Chart:
    """The chart that a text names.

    Raises:
        NoSuchChart: It names none.
        ChartError: It is none.
    """
    revision, colon, file = text.partition(":")
    if colon and revision and not Path(text).exists():
        of_then = _fragments_of_git(revision, posixpath.dirname(file))
        return parse_chart(_of_git(revision, file), file=text, trusted=trusted, fragments=of_then)
    return load_chart(chart_file(Path(text)), trusted=trusted)


def _fragments_of_git(revision: str, folder: str) -> FragmentFiles:
    """Reads fragments as they were in the same revision."""

    def read(name: str) -> str:
        try:
            return _of_git(revision, posixpath.join(folder, name))
        except NoSuchChart as error:
            raise FragmentUnreadable(f"cannot read the fragment {name!r}: {error}") from None

    return read


def _of_git(revision: str, file: str) -> str:
    path = Path(file)
    if not file or revision.startswith("-"):
        raise NoSuchChart(f"{revision}:{file} names no chart; {_ACCEPTED}")
    folder = path.parent if path.parent.is_dir() else Path()
    # "./" makes git take the path from that folder, not from the repository's top.
    name = f"{revision}:./{path.name if folder == path.parent else file}"
    try:
        done = subprocess.run(
            [*_GIT, "cat-file", "blob", name],
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=_GIT_S,
            env={**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSuchChart(f"{revision}:{file}: git cannot be asked: {error}; {_ACCEPTED}") from error
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise NoSuchChart(f"{revision}:{file}: {told}; {_ACCEPTED}")
    return done.stdout.decode("utf-8", "replace")


# ---------------------------------------------------------------- in lines


def _lines(found: ChartDifferences, old: Mapping[str, After], new: Mapping[str, After]) -> Iterator[str]:
    for one in found.fields:
        yield f"~ {_field(one)}"
    yield from (f"- state {name}" for name in found.removed)
    yield from (f"+ state {name}" for name in found.added)
    yield from (f"~ {_moved(one)}" for one in found.moved)
    for state in found.states:
        yield f"state {state.name}"
        yield from (f"  {line}" for line in _state(state, old, new))
    for name in found.unreached:
        yield f"! state {name}: nothing leads to it any more"
    for name in found.reached:
        yield f"! state {name}: can be reached now"


def _moved(one: Moved) -> str:
    told = f"state {one.before[0]}"
    if one.is_renamed:
        told += f" is called {one.after[0]}"
    if one.before[1] != one.after[1]:
        told += (
            f"{' and' if one.is_renamed else ''} is in {one.after[1] or 'no state'}, not in {one.before[1] or 'none'}"
        )
    return told


def _state(state: StateDifferences, old: Mapping[str, After], new: Mapping[str, After]) -> Iterator[str]:
    for one in state.fields:
        yield f"~ {_field(one)}"
    for change in state.transitions:
        yield from _transition(change, old, new)
    for group in state.reordered:
        event = events_text(group.after[0].events, new) or "always"
        yield f"! {event}: tried in another order, and the first whose guard holds is taken"
        yield f"    before: {'; '.join(_briefly(one) for one in group.before)}"
        yield f"    now:    {'; '.join(_briefly(one) for one in group.after)}"


def _transition(change: TransitionChange, old: Mapping[str, After], new: Mapping[str, After]) -> Iterator[str]:
    if change.before is None and change.after is not None:
        yield f"+ {_whole(change.after, new)}"
    elif change.after is None and change.before is not None:
        yield f"- {_whole(change.before, old)}"
    elif change.before is not None and change.after is not None:
        yield f"~ {_whole(change.before, old)}"
        yield f"  now {_whole(change.after, new)}  ({', '.join(change.parts)})"


def _whole(transition: Transition, timers: Mapping[str, After]) -> str:
    told = events_text(transition.events, timers) or "always"
    if transition.guard is not None:
        told += f" [{guard_text(transition.guard)}]"
    if transition.actions:
        told += f" / {actions_text(transition.actions)}"
    told += f" → {', '.join(transition.targets)}" if transition.targets else " (stays)"
    return f"{told} (internal)" if transition.internal and transition.targets else told


def _briefly(transition: Transition) -> str:
    guard = "otherwise" if transition.guard is None else guard_text(transition.guard)
    return f"{guard} → {', '.join(transition.targets) or 'stays'}"


def _field(one: Field) -> str:
    if one.before is None:
        return f"{one.name}: {_value(one.after)} (new)"
    if one.after is None:
        return f"{one.name}: none (was {_value(one.before)})"
    return f"{one.name}: {_value(one.after)} (was {_value(one.before)})"


def _value(value: Any) -> str:
    match value:
        case FixedDelay() | NamedDelay():
            return delay_text(value)
        case CodeValue():
            return value.code
        case tuple() if value and all(is_dataclass(one) for one in value):
            return ", ".join(action_text(one) for one in value)
        case tuple():
            return ", ".join(map(str, value)) or "nothing"
        case _ if is_dataclass(value):
            return str({one.name: getattr(value, one.name) for one in fields(value) if one.name != "position"})
    return str(value)


# ---------------------------------------------------------------- as JSON


def _as_json(found: ChartDifferences, old: Mapping[str, After], new: Mapping[str, After]) -> dict[str, Any]:
    return {
        "fields": [_field_json(one) for one in found.fields],
        "added": list(found.added),
        "removed": list(found.removed),
        "moved": [
            {"before": dict(zip(("name", "parent"), one.before, strict=True))}
            | {"after": dict(zip(("name", "parent"), one.after, strict=True))}
            for one in found.moved
        ],
        "states": [
            {
                "name": state.name,
                "fields": [_field_json(one) for one in state.fields],
                "transitions": [
                    {
                        "before": None if one.before is None else _whole(one.before, old),
                        "after": None if one.after is None else _whole(one.after, new),
                        "parts": list(one.parts),
                    }
                    for one in state.transitions
                ],
                "reordered": [
                    {"before": _order(group.before, old), "after": _order(group.after, new)}
                    for group in state.reordered
                ],
            }
            for state in found.states
        ],
        "unreached": list(found.unreached),
        "reached": list(found.reached),
    }


def _field_json(one: Field) -> dict[str, Any]:
    return {
        "name": one.name,
        "before": None if one.before is None else _value(one.before),
        "after": None if one.after is None else _value(one.after),
    }


def _order(transitions: Sequence[Transition], timers: Mapping[str, After]) -> list[str]:
    return [_whole(one, timers) for one in transitions]
