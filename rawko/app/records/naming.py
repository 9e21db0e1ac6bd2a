"""Finds the run that a person names: by id, by the beginning of the id or of its last part, by `last`, or by no name.

`20261122-103005-7f2c4e1` can be written `20261122-10`, `7f2c`, or, for the latest run, `last`; as with git's commits, a
beginning has to be unique. A command without a name chooses the only run that fits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

from rawko.app.exploration.places import explorations_folder
from rawko.app.exploration.places import names_in as explorations_in
from rawko.app.records.outcomes import ENDED, is_open, is_parked
from rawko.app.records.record import RunRecord, has_record, list_records, read_record, run_names
from rawko.app.records.run_names import is_lane_of, lane_depth
from rawko.app.run.inbox import is_at_work
from rawko.config import ConfigError, Settings
from rawko.vocabulary.visible import visible_line

LAST: Final = "last"
_LISTED: Final = 10
"""Candidates that an error lists."""
_TASK_CHARS: Final = 60


Meant = Literal["look", "travel", "go on", "answer", "steer", "end", "follow"]
"""What a command does with the run; this decides which runs fit if none is named.

Runs of the current folder come before forks of them, which have folders of their own.

look: the latest run or exploration; travel: the latest run; go on: a run that can be resumed; answer: a run that asks,
or is running; steer, end: a run that has not ended; follow: a run that has ended.
"""


def name_run(text: str, current: Settings, meant: Meant = "look") -> str:
    """The id of the run that a text names.

    Args:
        text: As it was typed; "" where no run is named. A text that fits no run is returned unchanged: reading the
            record then fails with a message that says which runs there are.

    Raises:
        ConfigError: Several runs fit, or no run is named and none fits; the message lists the candidates.
    """
    if not text:
        return _only(current, meant)
    names = names_of(current, with_explorations=meant in ("look", "end"))
    if text in names:
        return text
    if text == LAST:
        return _latest(names, current)
    found = [name for name in names if name.startswith(text)]
    found = found or [name for name in names if _last_part(name).startswith(text)]
    found = [name for name in found if not any(is_lane_of(name, other) for other in found)]
    if len(found) > 1:
        raise _ambiguous(f"{text!r} is the beginning of {len(found)} runs", found, current)
    return found[0] if found else text


def name_address(text: str, current: Settings, meant: Meant = "look") -> str:
    """`name_run` for the run in `RUN@K`; in "@K" no run is named."""
    run, at, place = text.strip().partition("@")
    return f"{name_run(run, current, meant)}{at}{place}"


def names_of(current: Settings, *, with_explorations: bool = False) -> list[str]:
    """Ids of the runs of a workspace, oldest first; only the folder is listed, no record read."""
    names = run_names(current)
    if with_explorations:
        names = sorted([*names, *explorations_in(explorations_folder(current.state_dir))])
    return names


def _latest(names: list[str], current: Settings) -> str:
    if not names:
        raise ConfigError(f"there are no runs of {str(current.workspace)!r} yet")
    chosen = [name for name in reversed(names) if not lane_depth(name)]
    return next((name for name in chosen if _is_here(name, current)), (chosen or names[::-1])[0])


def _is_here(run: str, current: Settings) -> bool:
    """Whether a run works in the current folder: not in that of a fork, which has its records in the same place."""
    try:
        return not has_record(current, run) or read_record(run, current).settings.workspace == current.workspace
    except ConfigError:  # whoever reads the run is told
        return True


def _last_part(name: str) -> str:
    """`7f2c4e1` of `20261122-103005-7f2c4e1`; for a lane, with the lane's name."""
    return "-".join(name.split("-")[2:])


def _only(current: Settings, meant: Meant) -> str:
    if meant not in _FITS:
        return _latest(names_of(current, with_explorations=meant == "look"), current)
    fits, none = _FITS[meant]
    fitting = [record for record in list_records(current) if fits(record) and _is_asked_for(record, meant)]
    here = [record.run for record in fitting if record.settings.workspace == current.workspace]
    found = here or [record.run for record in fitting]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ConfigError(f"{none} in {str(current.workspace)!r}; `rawko runs` lists its runs")
    raise _ambiguous(f"{len(found)} runs fit, and none is named", found, current)


def _ambiguous(what: str, found: Iterable[str], current: Settings) -> ConfigError:
    latest = sorted(found, reverse=True)
    records = {record.run: record for record in list_records(current)}
    lines = []
    for run in latest[:_LISTED]:
        record = records.get(run)
        told = "" if record is None else f"  {record.outcome:<12}  {' '.join(record.task.split())[:_TASK_CHARS]}"
        lines.append(visible_line(f"  {run}{told}"))
    more = f"\n  and {len(latest) - _LISTED} more" if len(latest) > _LISTED else ""
    return ConfigError(f"{what}; name one of them:\n" + "\n".join(lines) + more)


def _is_asked_for(record: RunRecord, meant: Meant) -> bool:
    """Whether a command may choose the run: no lane; to answer also a lane, but not the run above it."""
    if meant == "answer":
        return ((record.report or {}).get("question") or {}).get("run") is None
    return not lane_depth(record.run)


def _can_go_on(record: RunRecord) -> bool:
    return (is_open(record) or record.outcome == "limit") and not is_at_work(record.settings, record.run)


def _may_ask(record: RunRecord) -> bool:
    return is_parked(record) or is_at_work(record.settings, record.run)


def _has_ended(record: RunRecord) -> bool:
    return record.outcome in ENDED and not is_parked(record)


_FITS: Final[dict[Meant, tuple[Callable[[RunRecord], bool], str]]] = {
    "go on": (_can_go_on, "there is no run to go on with"),
    "answer": (_may_ask, "no run asks anything"),
    "steer": (is_open, "no run is open"),
    "end": (is_open, "no run is open"),
    "follow": (_has_ended, "no run has ended"),
}
