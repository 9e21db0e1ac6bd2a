"""Reads and atomically replaces one file of the workspace; shared by the file tools."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from secrets import token_hex

from rawko.runtime.ports import ToolOutcome
from rawko.tools.base import ToolFailure
from rawko.tools.files.paths import Located, failure

SNIFF_BYTES = 8192
"""Bytes at a file's beginning that decide whether it is binary."""

_MAGIC: Mapping[bytes, str] = {
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive (or a format made of one: jar, docx, xlsx, whl)",
    b"\x1f\x8b": "gzip-compressed data",
    b"BZh": "bzip2-compressed data",
    b"\xfd7zXZ\x00": "xz-compressed data",
    b"\x28\xb5\x2f\xfd": "zstd-compressed data",
    b"\x7fELF": "an ELF program or library",
    b"\xcf\xfa\xed\xfe": "a Mach-O program or library",
    b"\xca\xfe\xba\xbe": "a Java class or a Mach-O universal binary",
    b"\x00asm": "a WebAssembly module",
    b"SQLite format 3\x00": "an SQLite database",
    b"\xff\xfe": "UTF-16 text (little-endian); convert it with iconv in bash",
    b"\xfe\xff": "UTF-16 text (big-endian); convert it with iconv in bash",
}


def binary_kind(head: bytes) -> str | None:
    """The kind of a binary file, by its first bytes; None for text: no NUL, no magic number before non-ASCII bytes."""
    sample = head[:SNIFF_BYTES]
    named = next((kind for magic, kind in _MAGIC.items() if sample.startswith(magic)), None)
    if b"\0" in sample:
        return named or "binary data"
    return None if sample.isascii() else named


def replace_file(located: Located, shown: str, data: bytes) -> None:
    """Write `data` at `located`, all of it or nothing; permissions and owner are kept, set-id bits are not.

    Writes a new file beside it, then renames: a reader sees the old or the new contents, and a hard link to the old
    file (perhaps outside the workspace) keeps the old contents. Not fsynced: the workspace's snapshots are.

    Raises:
        ToolFailure: The path is not a regular file, or the disk refuses.
    """
    if located.info is not None and not stat.S_ISREG(located.info.st_mode):
        raise ToolFailure(f"{shown!r} is not a regular file; it is not overwritten")
    if located.info is not None and not located.info.st_mode & 0o222:
        # A rename would succeed on a write-protected file; refuse it, because the protection is intended.
        mode = stat.S_IMODE(located.info.st_mode)
        raise ToolFailure(
            f"{shown!r} is write-protected (mode {mode:04o}); chmod u+w it in bash first", code="read_only"
        )
    temporary = f".rawko-{token_hex(8)}.tmp"
    try:
        fd = os.open(
            temporary,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o666,
            dir_fd=located.parent_fd,
        )
        try:
            _fill(fd, data, located.info)
            os.rename(temporary, located.name, src_dir_fd=located.parent_fd, dst_dir_fd=located.parent_fd)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=located.parent_fd)
            raise
        finally:
            os.close(fd)
    except OSError as error:
        raise failure(error, shown) from error


def _fill(fd: int, data: bytes, old: os.stat_result | None) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    if old is None:
        return
    with suppress(PermissionError):
        os.fchown(fd, old.st_uid, old.st_gid)
    # Without set-uid, set-gid and sticky: a file that a model wrote must not run with another user's rights.
    os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)


async def to_the_end(work: Callable[[], ToolOutcome]) -> ToolOutcome:
    """Run `work` in a thread. A cancellation waits for its end: otherwise a capture of the workspace could see a file
    change of a call that was cancelled."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def encode(text: str, field: str) -> bytes:
    """The text as UTF-8.

    Raises:
        ToolFailure: It contains a lone surrogate, which UTF-8 cannot encode.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolFailure(
            f"{field} holds a lone surrogate {text[error.start]!r} at character {error.start}; "
            "that is not a character and cannot be written"
        ) from error
