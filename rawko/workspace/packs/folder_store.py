"""Packs in a plain folder: a mounted share, or a bucket that is mounted as one.

    PLACE/<run>/epoch-00002                      marks a process that sends; the highest number counts
    PLACE/<run>/00002-00000007-1-<head>.pack     epoch, number, level, head

A pack appears by renaming, so it is complete or absent. If two processes send at once, packs of the earlier epoch
may still arrive for a moment: readers take the head of the highest epoch, and surplus objects do no harm.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from rawko.processes.private import make_private
from rawko.workspace.names import check_run
from rawko.workspace.packs.port import Pack, PackError

_PACK: Final = re.compile(r"(\d{5})-(\d{8})-(\d+)-([0-9a-f]{40})\.pack")
_EPOCH: Final = re.compile(r"epoch-(\d{5})")


class FolderPacks:
    """The adapter of `rawko.workspace.packs.port.PackStore`."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def begin(self, run: str) -> int:
        try:
            folder = make_private(self._of(run))
            epoch = self._epoch(folder) + 1
            while True:
                try:
                    os.close(os.open(folder / f"epoch-{epoch:05}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                    break
                except FileExistsError:
                    epoch += 1
            for half in folder.glob(".*.new"):  # left by a process that was killed; a living one tries again
                half.unlink(missing_ok=True)
            return epoch
        except OSError as error:
            raise self._refused(error) from error

    def put(self, run: str, pack: Pack, data: bytes, *, instead_of: Collection[Pack] = ()) -> None:
        folder = self._of(run)
        new = folder / f".{secrets.token_hex(8)}.new"
        try:
            self._check(run, folder, pack.epoch)
            with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            self._check(run, folder, pack.epoch)
            new.replace(folder / _name(pack))
            for old in instead_of:
                (folder / _name(old)).unlink(missing_ok=True)
        except OSError as error:
            raise self._refused(error) from error
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)

    def packs(self, run: str) -> Sequence[Pack]:
        try:
            with os.scandir(self._of(run)) as listing:
                found = [(match, one.stat().st_size) for one in listing if (match := _PACK.fullmatch(one.name))]
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._refused(error) from error
        return sorted(Pack(int(match[1]), int(match[2]), int(match[3]), match[4], size) for match, size in found)

    def get(self, run: str, pack: Pack) -> bytes:
        try:
            return (self._of(run) / _name(pack)).read_bytes()
        except FileNotFoundError as error:
            raise PackError(f"pack {_name(pack)} of run {run!r} is gone", is_retryable=True) from error
        except OSError as error:
            raise self._refused(error) from error

    def forget(self, run: str) -> None:
        shutil.rmtree(self._of(run), ignore_errors=True)

    def close(self) -> None:
        pass

    def _of(self, run: str) -> Path:
        return self._place / check_run(run)

    def _epoch(self, folder: Path) -> int:
        names = os.listdir(folder)  # noqa: PTH208 - only names
        return max((int(match[1]) for name in names if (match := _EPOCH.fullmatch(name))), default=0)

    def _check(self, run: str, folder: Path, epoch: int) -> None:
        if self._epoch(folder) != epoch:
            raise PackError(f"another process sends the snapshots of run {run!r} now", is_replaced=True)

    def _refused(self, error: OSError) -> PackError:
        return PackError(
            f"the folder of packs {str(self._place)!r} cannot be used: {error.strerror or error}", is_retryable=True
        )


def _name(pack: Pack) -> str:
    return f"{pack.epoch:05}-{pack.number:08}-{pack.level}-{pack.head}.pack"
