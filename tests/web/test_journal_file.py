"""A journal's file tells of every commit, also of those that follow each other within a step of the file's time."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

from rawko.web.journal_file import FRESH_S, JournalFile


@pytest.fixture
def journal(tmp_path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(tmp_path / "journal.db", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE steps (seq INTEGER PRIMARY KEY, body TEXT)")
    return database


def settled(*paths: Path) -> None:
    """Make files older than what counts as fresh, as time would."""
    for path in paths:
        then = time.time() - 10 * FRESH_S
        os.utime(path, (then, then))


def test_each_commit_is_noticed_and_nothing_else(journal: sqlite3.Connection, tmp_path: Path) -> None:
    path, log = tmp_path / "journal.db", tmp_path / "journal.db-wal"
    watched = JournalFile(path, sure_s=3600)
    assert watched.may_have_changed(), "asked for the first time"
    for number in range(50):
        settled(path, log)
        watched.may_have_changed()
        assert not watched.may_have_changed()
        journal.execute("INSERT INTO steps VALUES (?, ?)", (number, "x" * 100))
        assert watched.may_have_changed()
    journal.execute("PRAGMA wal_checkpoint(RESTART)")
    settled(path, log)
    watched.may_have_changed()
    journal.execute("INSERT INTO steps VALUES (?, ?)", (100, "x"))  # the log begins anew, and is as long as before
    assert watched.may_have_changed()
    journal.close()


def test_a_file_that_was_changed_right_now_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_text("a")
    watched = JournalFile(path, sure_s=3600)
    future = time.time() + 60  # the file's time and this computer's differ: then it counts by its change alone
    os.utime(path, (future, future))
    assert [watched.may_have_changed(), watched.may_have_changed()] == [True, False]
    now = time.time()
    os.utime(path, (now, now))
    first = watched.may_have_changed()
    path.write_text("b")
    os.utime(path, (now, now))  # another write within the same step of the file's time, as long as the first
    assert (first, watched.may_have_changed() or time.time() - now > FRESH_S) == (True, True)


def test_a_journal_that_is_no_file_or_is_not_there_yet_is_asked_from_time_to_time(tmp_path: Path) -> None:
    remote = JournalFile("postgresql://db/rawko")
    assert remote.may_have_changed()
    missing = JournalFile(tmp_path / "journal.db", sure_s=3600)
    assert missing.may_have_changed()
    assert not missing.may_have_changed()
    (tmp_path / "journal.db").write_text("now")
    assert missing.may_have_changed()
