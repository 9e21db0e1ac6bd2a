"""The line that moves while a run works: who does what, for how long, with how many tokens, and the key that stops it.

    ⠋ developer · bash make test · 12 s · iteration 2 · 3,400 tokens in, 210 out · $0.0123 · Ctrl-C stops

Where the terminal is narrow, parts are left out, the least important first; what is done and for how long stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rawko.app.following.activity import Activity, Doing
from rawko.cutting import cut
from rawko.vocabulary.usage import Usage

FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SILENT_S: Final = 2.0
"""How long a model may say nothing before the line says that it thinks."""
_LEAST_WORDS: Final = 24
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
    stop: str = "Ctrl-C stops",
) -> str:
    """The line, at most `columns - 1` cells wide, without styles.

    Args:
        now: Seconds since the epoch.
        run_s: How long the run has been running.
        cells: How many cells a text takes.
    """
    mark = FRAMES[frame % len(FRAMES)]
    room = columns - 1
    words = narrowed(_words(activity, now), max(room // 2, _LEAST_WORDS), cells)
    seconds = max(now - activity.since, 0.0) if activity.since else run_s
    agent = "" if activity.doing is Doing.ARBITER else activity.agent
    head = [part for part in (agent, words, short_time(seconds)) if part]
    optional = [
        (4, f"iteration {activity.iteration}" if activity.iteration else ""),
        (2, _tokens(usage)),
        (3, f"${cost_usd:.4f}" if cost_usd else ""),
        (5, f"{short_time(run_s)} in all" if run_s - seconds > 5 else ""),
        (1, stop),
    ]
    kept = [(rank, text) for rank, text in optional if text]
    while kept and cells(_joined(mark, head, kept)) > room:
        kept.remove(max(kept))
    return narrowed(_joined(mark, head, kept), room, cells)


def _joined(mark: str, head: list[str], kept: list[tuple[int, str]]) -> str:
    return f"{mark} " + " · ".join([*head, *(text for _, text in kept)])


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


def _tokens(usage: Usage) -> str:
    if not usage.total_tokens:
        return ""
    return f"{usage.total_tokens - usage.output_tokens:,} tokens in, {usage.output_tokens:,} out"


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
    """The beginning of a text that fits, with an ellipsis where it is cut."""
    if cells(text) <= room:
        return text
    text = cut(text, room, "…") if len(text) > room else text
    while text and cells(text) > room:
        text = text[:-2] + "…" if len(text) > 1 else ""
    return text
