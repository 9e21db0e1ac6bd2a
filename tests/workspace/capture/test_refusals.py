"""What stops a capture, and so interrupts a run, and what only skips a file."""

from __future__ import annotations

import errno
import os
from itertools import islice

import pytest

from rawko.runtime.ports import WorkspaceError
from rawko.runtime.shortage import _behind, shortage_of
from rawko.workspace.capture.reader import refuse_if_ours
from rawko.workspace.repository.objects import Unreadable
from rawko.workspace.restore.check import failed

ALWAYS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
OF_DISK = (errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN)
OF_FILE = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG)


def refusal(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def stops(error: Exception, *, is_known: bool) -> bool:
    try:
        refuse_if_ours(error, b"sub/file", is_known=is_known)
    except WorkspaceError as told:
        assert told.path == "sub/file"
        cause = error.__cause__ or error
        assert isinstance(cause, OSError)
        assert f"{cause.strerror}" in told.message
        return True
    return False


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "captured before"])
@pytest.mark.parametrize("code", [*ALWAYS, *OF_DISK, *OF_FILE], ids=errno.errorcode.get)
def test_what_cannot_be_seen_now_does_not_count_as_gone(code: int, is_known: bool) -> None:
    expected = code in ALWAYS or (is_known and code in OF_DISK)
    assert stops(refusal(code), is_known=is_known) is expected
    half_way = Unreadable()
    half_way.__cause__ = refusal(code)
    assert stops(half_way, is_known=is_known) is expected
    assert not stops(Unreadable("the file is too large"), is_known=True)


@pytest.mark.parametrize(
    "code",
    [*ALWAYS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EAGAIN],
    ids=errno.errorcode.get,
)
def test_what_a_restore_is_refused_by_interrupts_a_run(code: int) -> None:
    """The refusal reaches whoever decides what becomes of the run, through the error that names the path."""
    try:
        try:
            raise refusal(code)
        except OSError as error:
            raise failed((b"sub", b"file"), error) from error
    except WorkspaceError as told:
        assert told.path == "sub/file"
        assert shortage_of(told, is_own=True) == os.strerror(code)


def test_errors_that_lead_to_each_other_are_looked_at_once() -> None:
    first, second, full = ValueError("first"), ValueError("second"), refusal(errno.ENOSPC)
    first.__cause__, second.__cause__, second.__context__ = second, first, first
    assert len(list(islice(_behind(first), 9))) == 2
    group = ExceptionGroup("several", [first, full])
    assert len(list(islice(_behind(group), 9))) == 4
    assert shortage_of(group, is_own=True) == os.strerror(errno.ENOSPC)
    assert shortage_of(group) is None
