"""The status line of a working run: agent, activity, time, tokens, and the key that stops it.

    ⠋ developer · bash make test · 12 s · iteration 2 · 3,400 tokens in, 210 out · $0.0123 · Ctrl-C stops

On a narrow terminal, parts are shortened (`#2 · 3.4k/210`), then left out, the least important first; activity and time
always stay, and the key down to 40 columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rawko.app.following.activity import Activity, Doing
from rawko.cli.amounts import in_and_out
from rawko.cutting import cut
from rawko.vocabulary.usage import Usage

FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SILENT_S: Final = 2.0
"""Seconds without output of a model after which the line says that it thinks."""
_LEAST_WORDS: Final = 20
_FEWEST_WORDS: Final = 8
"""Cells reserved for the activity before another part is dropped, and before the key is dropped."""
Cells = Callable[[str], int]


def status_line(
    activity: Activity,
    usage: Usage,
    cost_usd: float | None,
    *,
    now: float,
    run_s: float,
    frame: int,
    columns: int,
    cells: Cells = len,
) -> str:
    """The status line, at most `columns - 1` cells wide, without styles.

    Args:
        now: Seconds since the epoch.
        run_s: Seconds since the run started.
        cells: Returns the number of cells of a text.
    """
    mark = FRAMES[frame % len(FRAMES)]
    room = columns - 1
    seconds = max(now - activity.since, 0.0) if activity.since else run_s
    agent = "" if activity.doing is Doing.ARBITER else activity.agent
    words = _words(activity, now)
    in_all = f"{short_time(run_s)} in all" if run_s - seconds > 5 else ""

    def line(told: str, tail: Sequence[str]) -> str:
        return f"{mark} " + " · ".join(part for part in (agent, told, short_time(seconds), *tail) if part)

    for tail, least in _tails(activity.iteration, usage, f"${cost_usd:.4f}" if cost_usd else "", in_all):
        left = room - cells(line("-", tail)) + 1
        if left >= min(cells(words), least):
            return line(narrowed(words, left, cells), tail)
    return narrowed(line(narrowed(words, max(left, _FEWEST_WORDS), cells), ()), room, cells)


def _tails(iteration: int, usage: Usage, cost: str, in_all: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """The parts after the seconds, from all to none, each with the cells that must be left for the activity."""
    read, written = usage.total_tokens - usage.output_tokens, usage.output_tokens
    tokens = f"{read:,} tokens in, {written:,} out" if usage.total_tokens else ""
    round_ = f"iteration {iteration}" if iteration else ""
    yield (round_, tokens, cost, in_all, "Ctrl-C stops"), _LEAST_WORDS
    yield (round_, tokens, cost, "Ctrl-C stops"), _LEAST_WORDS
    tokens, round_ = in_and_out(read, written), f"#{iteration}" if iteration else ""
    yield (round_, tokens, cost, "^C stops"), _LEAST_WORDS
    yield (tokens, cost, "^C stops"), _LEAST_WORDS
    yield (tokens, "^C stops"), _LEAST_WORDS
    yield ("^C stops",), _LEAST_WORDS
    yield ("^C",), _FEWEST_WORDS
    yield (), _FEWEST_WORDS


def _words(activity: Activity, now: float) -> str:
    match activity.doing:
        case Doing.STARTING:
            return "starting…"
        case Doing.MODEL:
            if activity.thinking or (activity.is_silent and now - activity.since >= SILENT_S):
                return "thinking…"
            return "asking the model…" if activity.is_silent else "writing…"
        case Doing.ARBITER:
            return "the arbiter decides…"
        case Doing.TOOL:
            return activity.words
        case Doing.PERSON:
            return "waits for a person"
        case Doing.DELAY:
            return f"waits: {activity.words}"
        case Doing.WORKSPACE:
            return "records the files…"
        case Doing.ENDED:
            return "ending…"


def short_time(seconds: float) -> str:
    """A duration for people.

    >>> short_time(8.4), short_time(75), short_time(3725)
    ('8 s', '1 min 15 s', '1 h 2 min')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def narrowed(text: str, room: int, cells: Cells) -> str:
    """The longest beginning of a text that fits into `room` cells, with an ellipsis where it was cut."""
    if cells(text) <= room:
        return text
    text = cut(text, room, "…") if len(text) > room else text
    while text and cells(text) > room:
        text = text[:-2] + "…" if len(text) > 1 else ""
    return text
