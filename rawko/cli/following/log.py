"""`rawko log RUN --follow`: what happens in a run as it happens, from another process than its own."""

from __future__ import annotations

import asyncio
import sys

from rawko.app.exploration.record import is_exploration
from rawko.app.following.reading import Piece, follow
from rawko.app.records.record import read_record
from rawko.app.records.rows import Line
from rawko.cli.output import complain, nobody_reads, visible_json
from rawko.cli.runs.history import row_line, without_machines
from rawko.cli.settings import settings_here
from rawko.config import ConfigError
from rawko.runtime.journal import StepRecord
from rawko.vocabulary.visible import VisibleStream


def follow_command(run: str, *, as_json: bool) -> int:
    """Rows and text until no process has the run at work."""
    try:
        asyncio.run(_follow(run, as_json=as_json))
    except ConfigError as error:
        return complain(str(error))
    except BrokenPipeError:
        return nobody_reads()
    return 0


async def _follow(run: str, *, as_json: bool) -> None:
    current = settings_here()
    if is_exploration(current.state_dir, run):
        raise ConfigError(f"run {run!r} is an exploration, which has no text to follow; see: rawko log {run}")
    record = read_record(run, current)
    shown = _Json() if as_json else _Lines(Line(record.rewinds))
    async for one in follow(record):
        if isinstance(one, Piece):
            shown.piece(one)
        else:
            shown.row(one)
        sys.stdout.flush()
    shown.end()


class _Lines:
    """For people: a line per step, and text as it comes below the step that it followed."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._text: VisibleStream | None = None

    def row(self, step: StepRecord) -> None:
        self.end()
        print(row_line(step, self._line.leaves_behind(step.seq)))

    def piece(self, piece: Piece) -> None:
        if self._text is None:
            self._text = VisibleStream()
            sys.stdout.write("       ")
        sys.stdout.write(self._text.feed(piece.text).replace("\n", "\n       "))

    def end(self) -> None:
        if self._text is not None:
            sys.stdout.write(self._text.end() + "\n")
            self._text = None


class _Json:
    """For programs: one object per step, as `rawko log --json` gives it, and per piece of text."""

    def row(self, step: StepRecord) -> None:
        print(visible_json(without_machines(step)))

    def piece(self, piece: Piece) -> None:
        print(visible_json({"text": piece.text, "agent": piece.agent, "row": piece.row}))

    def end(self) -> None:
        """Nothing is open."""
