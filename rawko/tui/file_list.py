"""The list of changed files with their diffs, as of the latest snapshot or of an earlier step."""

from __future__ import annotations

import asyncio
from typing import Final

from rawko.config import ConfigError, Settings
from rawko.tui.drawing.files import File, draw_file
from rawko.tui.reading import read_files
from rawko.tui.widgets.lines import Lines

PAUSE_S: Final = 0.15
"""Files of a step are read after the cursor has rested on the step for this time, so that moving through the steps with
a held key reads nothing."""


class FileList:
    """Updates the list of files.

    Args:
        run: Id of the run; `current` are the settings of its folder.

    Attributes:
        snapshot: Commit of the run's latest snapshot.
    """

    def __init__(self, run: str, current: Settings) -> None:
        self.lines: Lines[File] = Lines(draw_file, id="files", follows=False, empty="no files changed")
        self.snapshot = ""
        self._run = run
        self._current = current
        self._shown: tuple[int | None, str] | None = None

    def is_shown(self, step: int | None) -> bool:
        """Whether the list shows the files of this step already; None: of the latest snapshot."""
        return self._shown == self._key(step)

    async def show(self, step: int | None) -> None:
        """Read and show the files as of a step; open files stay open.

        Raises:
            ConfigError: The files cannot be read.
        """
        key = self._key(step)
        if step is not None:
            await asyncio.sleep(PAUSE_S)
        try:
            found = await read_files(self._run, self._current, step)
        except ConfigError:
            if step is not None:  # do not leave another step's files in the list
                self._shown = key
                self.lines.reset([])
            raise
        self._shown = key
        opened = {self.lines.items[index].change.path for index in self.lines.opened}
        files = [File(change, part) for change, part in zip(found.changes, found.parts, strict=True)]
        self.lines.reset(files, opened={index for index, one in enumerate(files) if one.change.path in opened})

    def _key(self, step: int | None) -> tuple[int | None, str]:
        return (step, self.snapshot if step is None else "")
