"""The decisions about the step under the cursor: rewind, fork, pin."""

from __future__ import annotations

from typing import Final

from rawko.app.views.charts import RunCharts
from rawko.config import ConfigError
from rawko.tui.decisions.asking import DecisionDialogs
from rawko.tui.drawing.amounts import file_line
from rawko.tui.drawing.cells import CellLine, wrapped
from rawko.tui.reading import read_setback
from rawko.tui.widgets.dialogs import Ask
from rawko.vocabulary.visible import visible, visible_line

MAX_FILES: Final = 40
"""The most paths that the question about a rewind lists."""


def _number(dialogs: DecisionDialogs) -> int:
    step = dialogs.app.lists.steps.current
    if step is None:
        raise ConfigError("there is no step under the cursor; 2 shows the steps")
    return step.view.number


async def rewind(dialogs: DecisionDialogs) -> None:
    watched, number = dialogs.watched, _number(dialogs)
    if watched.is_at_work:
        raise ConfigError("the run is at work; cancel it first (x), then set it back")
    last = watched.reader.last
    back = await read_setback(dialogs.run, dialogs.app.current, number)
    lines: list[CellLine] = []
    if number < last:
        lines += dialogs.lines_of(
            f"Steps {number + 1} to {last} are left behind, and kept: a rewind to step {last} brings them back."
        )
    if back.changes:
        lines += dialogs.lines_of(f"{len(back.changes)} files change on disk:")
        lines += [(("  ", ""), *file_line(change)) for change in back.changes[:MAX_FILES]]
        if len(back.changes) > MAX_FILES:
            lines.append(((f"  … {len(back.changes) - MAX_FILES} more", "dim"),))
    else:
        lines += dialogs.lines_of("The files of the last snapshot stay as they are.")
    lines += dialogs.lines_of("Edits that are in no snapshot are saved as a snapshot first.")
    if await dialogs.confirmed(f"Set the run back to step {number}?", lines):
        dialogs.show_result(await dialogs.act.rewind(dialogs.run, number))


async def fork(dialogs: DecisionDialogs) -> None:
    number = _number(dialogs)
    lines = dialogs.lines_of(
        "A separate run in a separate folder; this run stays as it is. Type a new task, or nothing for this one:"
    )
    told = await dialogs.show(Ask(f"Fork from step {number}", lines, kind="fork", may_be_empty=True))
    if told is not None:
        _, done = await dialogs.act.fork(dialogs.run, number, told[1] or None)
        dialogs.show_result(done)


async def pin(dialogs: DecisionDialogs) -> None:
    number = _number(dialogs)
    text = await dialogs.act.pin(dialogs.run, number)
    lines: list[CellLine] = [((line, "code"),) for line in wrapped(visible(text).rstrip("\n"), dialogs.width)]
    lines.append(((" ", ""),))
    lines += dialogs.lines_of("Into which .feature file? The chart is copied beside it where it is missing.", "strong")
    title = f"Step {number} as a scenario"
    told = await dialogs.show(Ask(title, lines, kind="pin", given=_feature(dialogs, number), verb="writes it"))
    if told is not None:
        dialogs.app.say(f"pinning step {number} into {visible_line(told[1])}…")
        dialogs.show_result(await dialogs.act.pin_into(dialogs.run, number, told[1]))


def _feature(dialogs: DecisionDialogs, number: int) -> str:
    """A proposed path of the .feature file, named after the chart of the step."""
    step, moment = dialogs.app.lists.steps.current, dialogs.watched.moments.at(number)
    if step is None or moment is None:
        return "pinned/steps.feature"
    charts, _ = RunCharts(dialogs.watched.record).of(moment.configurations, moment.agent)
    chart = charts.get(step.view.actor)
    stem = "steps" if chart is None else "".join(char if char.isalnum() else "_" for char in chart.name)
    return f"pinned/{stem}.feature"
