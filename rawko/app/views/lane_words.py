"""Words for ended lanes and for the adoption of their results: words, detail, whether it is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rawko.app.run.parts.actor_names import RUN_LANE
from rawko.app.views.words import at, line

LaneWords = tuple[str, str, bool]


def _lane(output: Any) -> LaneWords:
    if isinstance(output, list | tuple):
        done = sum(at(one, "status") == "done" for one in output)
        return f"{done} of {len(output)} lanes are done", "", False
    ended = at(output, "output") or output  # the first of several, or the one lane
    return line(f"lane {at(ended, 'lane')} is done"), line(at(ended, "summary") or ""), False


def _captured(output: Any) -> LaneWords:
    return line(f"files {at(output, 'snapshot', 'label') or 'before an adoption'}"), "", False


def _adopted(output: Any) -> LaneWords:
    if not at(output, "is_adopted"):
        return "conflict, nothing was changed", line(", ".join(at(output, "conflicts") or ())), True
    return "adopted", line(", ".join(at(output, "changes") or ()) or "nothing that was not there"), False


def _checked(output: Any) -> LaneWords:
    found = at(output, "evidence") or ()
    failed = [one for one in found if not at(one, "held")]
    words = "the check has failed" if failed else "the check has passed"
    return words, line("; ".join(str(at(one, "found") or "") for one in failed or found)), bool(failed)


def _taken_back(output: Any) -> LaneWords:
    return "took back what was adopted", "", False


LANE_WORDS: Final[Mapping[str, Callable[[Any], LaneWords]]] = {
    RUN_LANE: _lane,
    "capture_files": _captured,
    "adopt_lane": _adopted,
    "check_files": _checked,
    "take_back": _taken_back,
}
"""Describes the output of an ended actor, by actor name."""
