"""Keeps the whole output of commands on disk: one file per command, with limits for each file and for their sum.

Memory holds only the part that the model is shown: the beginning and the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from rawko.processes.private import make_private
from rawko.tools.text import printed, size

HEAD_BYTES = 8_000
TAIL_BYTES = 20_000
"""Bytes of a long output that the model sees. The end gets more, because errors and summaries are there."""
LOOK_EVERY: Final = 64
"""Commands between two measurements of all kept outputs: a measurement takes time that grows with their number."""


class Spool:
    """A folder of outputs.

    Args:
        folder: Made at the first output, readable by its owner only.
        max_bytes: Limit of one output; a command that writes more is stopped.
        max_total_bytes: Limit of this folder and the folders of other runs beside it; the oldest outputs are removed.
    """

    def __init__(self, folder: Path, *, max_bytes: int, max_total_bytes: int) -> None:
        self._folder, self._max_bytes, self._max_total_bytes = folder, max_bytes, max_total_bytes
        self._number = 0
        self._left = 0  # bytes, since the last look
        self._opens = 0  # before the next look

    def open(self) -> Output:
        """A new output.

        Raises:
            OSError: The state folder cannot be written.
        """
        if self._opens <= 0 or self._left <= 0:
            make_private(self._folder)
            self._look()
        self._opens -= 1
        while True:
            self._number += 1
            path = self._folder / f"{self._number:06d}.log"
            try:
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue
            except FileNotFoundError:  # the folder was removed meanwhile
                make_private(self._folder)
                continue
            return Output(path, fd, self._max_bytes, self._count)

    def _count(self, saved: int) -> None:
        self._left -= saved

    def _look(self) -> None:
        """Remove the oldest outputs beyond the limit, and measure the rest. Half of the free space is for other
        runs, which write at the same time.
        """
        kept, total = self._make_room()
        self._number = max(self._number, int(kept[-1].stem) if kept else 0)
        self._left = (self._max_total_bytes - self._max_bytes - total) // 2
        self._opens = LOOK_EVERY

    def _make_room(self) -> tuple[list[Path], int]:
        """This run's remaining outputs, and the bytes of all runs' outputs."""
        files = sorted(
            (path for path in self._folder.glob("*.log") if path.stem.isdecimal()), key=lambda p: int(p.stem)
        )
        others = (path for path in self._folder.parent.glob("*/*.log") if path.parent != self._folder)
        ages = sorted((*_age(self._folder.parent.glob("*.log")), *_age(others)))
        # Within one run the numbers give the order, because clocks may jump.
        aged = [*((path, taken) for _, path, taken in ages), *((path, _size(path)) for path in files)]
        total = sum(taken for _, taken in aged)
        gone = set()
        for path, taken in aged:
            if total <= self._max_total_bytes - self._max_bytes:
                break
            with suppress(FileNotFoundError):
                path.unlink()
            gone.add(path)
            total -= taken
        # The highest number is not reused, even if its file was removed.
        return [path for path in files if path not in gone] or files[-1:], total


class Output:
    """One command's output while it grows.

    Args:
        count: Called with the number of bytes that were saved.
    """

    def __init__(self, path: Path, fd: int, max_bytes: int, count: Callable[[int], None]) -> None:
        self.path = path
        self.total = 0
        self._fd, self.max_bytes = fd, max_bytes
        self._head, self._tail = bytearray(), bytearray()
        self.error: OSError | None = None
        self._count = count

    @property
    def is_full(self) -> bool:
        return self.total > self.max_bytes

    def write(self, data: bytes) -> None:
        """Save `data`; beyond the limit, keep only the end that the model is shown. `error` holds an error of the
        disk.
        """
        room = max(self.max_bytes - self.total, 0)
        self.total += len(data)
        if room and self.error is None:
            self._save(memoryview(data)[:room])
        taken = max(HEAD_BYTES - len(self._head), 0)
        self._head += data[:taken]
        self._tail += data[taken:]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    def close(self) -> None:
        """Safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def shown(self) -> str:
        """The text for the model: a short output whole, otherwise its beginning and end with a notice between."""
        tail = bytes(self._tail[-TAIL_BYTES:])
        hidden = self.total - len(self._head) - len(tail)
        if hidden <= 0:
            return printed((bytes(self._head) + tail).decode("utf-8", errors="replace"))
        head = self._head.decode("utf-8", errors="ignore")
        end = tail.decode("utf-8", errors="replace").lstrip("\ufffd")
        return f"{printed(head)}\n[… {size(hidden)} left out; {self._whole()} …]\n{printed(end)}"

    def _whole(self) -> str:
        if self.error is not None:
            return f"the whole output could not be kept: {self.error.strerror}"
        kept = "the first " + size(self.max_bytes) + " are" if self.is_full else "the whole output is"
        return f"{kept} in {self.path}, which bash can read"

    def _save(self, data: memoryview) -> None:
        try:
            while data:
                saved = os.write(self._fd, data)
                self._count(saved)
                data = data[saved:]
        except OSError as error:
            self.error = error


def _age(paths: Iterable[Path]) -> Iterator[tuple[float, Path, int]]:
    """Modification time, path and size in bytes of each output."""
    for path in paths:
        if path.stem.isdecimal():
            with suppress(OSError):
                seen = path.lstat()
                yield seen.st_mtime, path, seen.st_size


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
