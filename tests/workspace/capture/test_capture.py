"""Captures of real folders, read back by the real git."""

from __future__ import annotations

import os
import resource
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rawko.patterns.exclusions import MAX_DEPTH
from rawko.runtime.ports import WorkspaceError
from rawko.workspace import SnapshotStore
from rawko.workspace.capture.reader import RACY_NS
from rawko.workspace.names import to_text
from rawko.workspace.repository.objects import STREAM_FROM_BYTES

Place = Any
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def settle() -> None:
    """Wait until files written before count as old: only then are they not read again."""
    time.sleep(1.5 * RACY_NS / 1e9)


# ---------------------------------------------------------------- what a tree holds


def test_captures_files_links_and_modes_exactly(place: Place) -> None:
    place.write("plain.txt", b"one\r\ntwo\n")
    place.write("tool.sh", b"#!/bin/sh\n", mode=0o755)
    place.write("a/b/c/deep.bin", bytes(range(256)))
    place.write("a.b", b"sorts before the folder a")
    (place.workspace / "link").symlink_to("plain.txt")
    (place.workspace / "dangling").symlink_to("/nowhere/at all")
    snapshot = place.open().capture(label="start")
    modes = {path: mode for path, (mode, _) in place.paths(snapshot.tree).items()}
    assert modes == {
        b"plain.txt": b"100644",
        b"tool.sh": b"100755",
        b"a/b/c/deep.bin": b"100644",
        b"a.b": b"100644",
        b"link": b"120000",
        b"dangling": b"120000",
    }
    assert place.content(snapshot.tree, b"plain.txt") == b"one\r\ntwo\n"
    assert place.content(snapshot.tree, b"a/b/c/deep.bin") == bytes(range(256))
    assert place.content(snapshot.tree, b"dangling") == b"/nowhere/at all"
    assert snapshot.label == "start"
    assert snapshot.skipped == ()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(b"caf\xe9", id="latin-1"),
        pytest.param(b"two\nlines", id="newline"),
        pytest.param(b"ends\n", id="ends in newline"),
        pytest.param(b"back\\slash", id="backslash"),
        pytest.param(b'quo"te\t', id="quote and tab"),
        pytest.param("ünïcode ✓".encode(), id="utf-8"),
        pytest.param(b" ", id="blank"),
        pytest.param(b"-rf", id="option"),
        pytest.param(b"\x01\x7f\xff\xfe", id="controls"),
        pytest.param(b"n" * 255, id="longest"),
        pytest.param(b"git~1", id="short name of git"),
    ],
)
def test_names_are_bytes(place: Place, name: bytes) -> None:
    place.write(name, b"1")
    place.write(b"folder-" + name[:200] + b"/" + name, b"2")
    store = place.open()
    first = store.capture()
    assert place.names(first.tree) == {name, b"folder-" + name[:200] + b"/" + name}
    place.write(name, b"3")
    second = store.capture([to_text(name)])
    assert [change.path for change in store.changes(first.tree, second.tree)] == [to_text(name)]
    assert place.content(second.tree, name) == b"3"
    assert place.git("fsck", "--strict", "--full") == b""


def test_an_empty_workspace_is_the_empty_tree(place: Place) -> None:
    (place.workspace / "empty/inner").mkdir(parents=True)
    assert place.open().capture().tree == EMPTY_TREE


def test_the_tree_is_the_one_that_git_would_write(place: Place, git: Callable[..., bytes]) -> None:
    for path in ("a", "a.b/c", "a-b", "ab/x", "ab.txt", "z/y/x", "Ä"):
        place.write(path, path.encode())
    git("init", "-q", cwd=place.workspace)
    git("add", "-A", cwd=place.workspace)
    written = git("write-tree", cwd=place.workspace).decode().strip()
    assert place.open().capture().tree == written


def test_contents_are_exact_whatever_the_attributes_say(place: Place) -> None:
    place.write(".gitattributes", b"* text=auto eol=lf ident\n*.big filter=lfs\n")
    place.write("crlf.txt", b"a\r\nb\r\n$Id$\n")
    place.write("x.big", b"y" * 10)
    tree = place.open().capture().tree
    assert place.content(tree, b"crlf.txt") == b"a\r\nb\r\n$Id$\n"
    assert place.content(tree, b"x.big") == b"y" * 10


@pytest.mark.parametrize("extra", [-1, 0, 1, 3 << 20])
def test_large_files_are_streamed_into_the_same_object(place: Place, extra: int) -> None:
    content = os.urandom(STREAM_FROM_BYTES + extra)
    place.write("large", content)
    store = place.open()
    tree = store.capture().tree
    assert place.content(tree, b"large") == content
    place.write("copy", content)
    assert place.paths(store.capture().tree)[b"copy"] == place.paths(tree)[b"large"]
    assert not [*(place.repository / "objects").glob("tmp_obj_*")]


def test_stored_objects_are_read_only_as_git_s_own(place: Place) -> None:
    place.write("small")
    place.write("large", b"x" * (STREAM_FROM_BYTES + 1))
    place.open().capture()
    objects = [*(place.repository / "objects").glob("??/*")]
    assert len(objects) >= 4
    assert {stat.S_IMODE(one.stat().st_mode) for one in objects} == {0o444}


def test_special_files_are_left_out(place: Place) -> None:
    place.write("file")
    os.mkfifo(place.workspace / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        # Bound through a short relative path: the system limits the length of a socket's.
        here = Path.cwd()
        os.chdir(place.workspace)
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        store = place.open()
        snapshot = store.capture()
        assert place.names(snapshot.tree) == {b"file"}
        assert snapshot.skipped == ()
        assert store.capture(["fifo", "socket"]).tree == snapshot.tree


def test_a_file_that_becomes_a_fifo_is_gone(place: Place) -> None:
    place.write("a/file")
    store = place.open()
    store.capture()
    (place.workspace / "a/file").unlink()
    os.mkfifo(place.workspace / "a/file")
    assert store.capture(["a/file"]).tree == EMPTY_TREE == store.capture().tree


def test_files_over_the_limit_are_skipped_and_said_so(place: Place) -> None:
    place.write("small", b"x" * 100)
    place.write("sub/large", b"x" * 101)
    store = place.open(max_file_bytes=100)
    first = store.capture()
    assert place.names(first.tree) == {b"small"}
    assert first.skipped == ("sub/large",)
    place.write("small", b"y")
    assert store.capture(["small"]).skipped == ("sub/large",), "a hint elsewhere does not clear it"
    place.write("sub/other", b"y")
    assert store.capture(["sub/other"]).skipped == ("sub/large",), "nor does one beside it"
    place.write("sub/large", b"y")
    assert store.capture(["sub/large"]).skipped == ()
    assert place.names(store.capture().tree) == {b"small", b"sub/large", b"sub/other"}


@contextmanager
def unprivileged(*folders: Path) -> Iterator[None]:
    """Act as a user whom file modes bind; root is bound by none."""
    if os.geteuid() != 0:
        yield
        return
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 65534, -1, follow_symlinks=False)
    enter = stat.S_IXGRP | stat.S_IXOTH  # The group stays root's.
    above = [(path, path.stat().st_mode) for path in folders[0].parents]
    for path, mode in above:
        if mode & enter != enter:
            path.chmod(mode | enter)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for folder in folders:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, 0, -1, follow_symlinks=False)
        for path, mode in above:
            if mode & enter != enter:
                path.chmod(mode)


def test_unreadable_files_and_folders_are_skipped(place: Place) -> None:
    place.write("open")
    place.write("secret")
    place.write("closed/inner")
    place.state.mkdir()
    with unprivileged(place.folder):
        (place.workspace / "secret").chmod(0)
        (place.workspace / "closed").chmod(0)
        try:
            store = place.open()
            snapshot = store.capture()
            again = store.capture(["secret", "closed/inner", "closed"])
        finally:
            (place.workspace / "closed").chmod(0o755)
        readable = store.capture(["closed"])
        store.close()
    assert snapshot.skipped == again.skipped == ("closed", "secret")
    assert again.tree == snapshot.tree
    assert readable.skipped == ("secret",)
    assert place.names(snapshot.tree) == {b"open"}
    assert place.names(readable.tree) == {b"open", b"closed/inner"}


def test_a_folder_that_may_be_listed_and_not_entered(place: Place) -> None:
    place.write("listed/file")
    place.write("open")
    place.state.mkdir()
    with unprivileged(place.folder):
        store = place.open()
        store.capture()
        (place.workspace / "listed").chmod(0o600)
        try:
            full, hinted = store.capture(), store.capture(["listed/file"])
        finally:
            (place.workspace / "listed").chmod(0o700)
        store.close()
    assert full.skipped == hinted.skipped == ("listed/file",)
    assert place.names(full.tree) == place.names(hinted.tree) == {b"open"}


def test_running_out_of_descriptors_is_an_error_and_not_a_loss(place: Place) -> None:
    for number in range(5):
        place.write(f"{'d/' * 20}file{number}")
    store = place.open()
    first = store.capture()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open("/", os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 8, limits[1]))
    try:
        with pytest.raises(WorkspaceError, match="Too many open files"):
            store.capture()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert store.capture().commit == first.commit


def test_hints_that_no_file_can_have_are_nothing(place: Place) -> None:
    place.write("file")
    store = place.open()
    first = store.capture()
    assert store.capture(["n" * 300, "file/inner", "n/" * 5000 + "x"]).tree == first.tree


def test_folders_that_are_too_deep_are_skipped(place: Place) -> None:
    deep = "/".join(["d"] * MAX_DEPTH)
    place.write(f"{deep}/kept")
    place.write(f"{deep}/d/lost")
    store = place.open()
    snapshot = store.capture()
    assert place.names(snapshot.tree) == {f"{deep}/kept".encode()}
    assert snapshot.skipped == (f"{deep}/d",)
    assert store.capture([f"{deep}/kept", f"{deep}/d/lost"]) == snapshot.model_copy(update={"label": ""})


# ---------------------------------------------------------------- what is never captured or written


def test_git_folders_are_left_out_and_nested_repositories_are_not(place: Place, git: Callable[..., bytes]) -> None:
    git("init", "-q", cwd=place.workspace)
    place.write("file")
    place.write("vendor/lib/code")
    git("init", "-q", cwd=place.workspace / "vendor/lib")
    place.write("linked/.git", b"gitdir: ../.git/worktrees/none\n")
    place.write("linked/code")
    store = place.open()
    tree = store.capture().tree
    assert place.names(tree) == {b"file", b"vendor/lib/code", b"linked/code"}
    assert store.capture([".git/config", "vendor/lib/.git", "linked/.git"]).tree == tree


def test_the_users_repository_is_not_written(place: Place, git: Callable[..., bytes]) -> None:
    git("init", "-q", cwd=place.workspace)
    place.write("tracked")
    git("add", "-A", cwd=place.workspace)
    git("commit", "-qm", "one", cwd=place.workspace)
    place.write("tracked", b"changed")
    place.write("new")

    def looks() -> dict[str, tuple[int, int, int]]:
        found = sorted((place.workspace / ".git").rglob("*"))
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size, path.stat().st_ino) for path in found}

    before = looks()
    store = place.open()
    first = store.capture()
    place.write("new", b"newer")
    store.diff(first.tree, store.capture(["new"]).tree)
    store.close()
    assert looks() == before


def test_a_state_folder_inside_the_workspace_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "code").write_text("x")
    state = tmp_path / "hidden/state"
    with SnapshotStore.open(tmp_path, state, run="r", exclude=[tmp_path / "logs"]) as store:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs/log").write_text("x")
        first = store.capture()
        assert store.capture(["hidden", "hidden/state/store.lock", "logs", "logs/log"]).tree == first.tree
        assert store.capture().tree == first.tree
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", first.tree],
        cwd=state / "snapshots.git", capture_output=True, check=True,
    )  # fmt: skip
    assert listed.stdout == b"code\n"


def test_a_link_to_a_folder_is_captured_as_a_link(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    (place.workspace / "way out").symlink_to(outside)
    place.write("real/file", b"1")
    (place.workspace / "shortcut").symlink_to("real")
    store = place.open()
    first = store.capture()
    assert place.names(first.tree) == {b"way out", b"shortcut", b"real/file"}
    (outside / "secret").write_text("changed")
    assert store.capture(["way out/secret"]).tree == first.tree
    (place.workspace / "shortcut/file").write_bytes(b"2")
    second = store.capture(["shortcut/file"])
    assert place.content(second.tree, b"real/file") == b"2", "written through the link"
    assert second.tree == store.capture().tree


def test_a_folder_swapped_for_a_link_is_not_entered(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("secret")
    place.write("folder/file", b"mine")
    store = place.open()
    store.capture()
    (place.workspace / "folder/file").unlink()
    (place.workspace / "folder").rmdir()
    (place.workspace / "folder").symlink_to(outside)
    hinted = store.capture(["folder/file"])
    assert place.names(hinted.tree) == {b"folder"}
    assert place.content(hinted.tree, b"folder") == os.fsencode(outside)
    assert store.capture().tree == hinted.tree


def test_loops_of_links_are_only_links(place: Place) -> None:
    (place.workspace / "one").symlink_to("two")
    (place.workspace / "two").symlink_to("one")
    store = place.open()
    first = store.capture()
    assert place.names(first.tree) == {b"one", b"two"}
    assert store.capture(["one/inner", "two"]).tree == first.tree


# ---------------------------------------------------------------- looking again


def test_nothing_changed_gives_the_same_snapshot_and_reads_nothing(place: Place) -> None:
    for number in range(50):
        place.write(f"d{number % 5}/f{number}", str(number).encode())
    (place.workspace / "link").symlink_to("d0")
    settle()
    store = place.open()
    first = store.capture(label="one")
    reads = store.counters.reads
    assert reads == 51
    second = store.capture(label="two")
    assert store.counters.reads == reads
    assert (second.tree, second.commit, second.label) == (first.tree, first.commit, "two")
    assert [snapshot.label for snapshot in store.log()] == ["one"], "entries are changes plus one"


def test_a_hinted_capture_lists_no_folder_and_asks_about_the_path_alone(place: Place) -> None:
    for number in range(300):
        place.write(f"d{number % 30}/f{number}", b"x")
    place.write("a/b/c/file", b"1")
    settle()
    store = place.open()
    store.capture()
    scans, stats, reads = store.counters.scans, store.counters.stats, store.counters.reads
    place.write("a/b/c/file", b"2")
    assert place.content(store.capture(["a/b/c/file"]).tree, b"a/b/c/file") == b"2"
    assert store.counters.scans == scans
    assert store.counters.stats == stats + 4
    assert store.counters.reads == reads + 1


def test_no_hint_at_all_looks_at_nothing(place: Place) -> None:
    place.write("file", b"1")
    store = place.open()
    first = store.capture()
    cost = (store.counters.scans, store.counters.stats, store.counters.reads)
    place.write("file", b"2")
    assert store.capture([]).tree == first.tree
    assert (store.counters.scans, store.counters.stats, store.counters.reads) == cost


def test_a_same_size_edit_with_its_time_set_back_is_seen(place: Place) -> None:
    place.write("file", b"one")
    settle()
    store = place.open()
    first = store.capture()
    seen = (place.workspace / "file").stat()
    place.write("file", b"two")
    os.utime(place.workspace / "file", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert store.capture().tree != first.tree


def test_edits_right_after_a_capture_are_seen(place: Place) -> None:
    store = place.open()
    for number in range(60):
        place.write("file", b"%03d" % number)
        assert place.content(store.capture().tree, b"file") == b"%03d" % number, "a racy timestamp"


def test_a_file_changed_while_it_counts_as_racy_is_read_again_once_it_is_old(place: Place) -> None:
    place.write("file", b"1")
    store = place.open()
    store.capture()
    settle()
    store.capture()
    reads = store.counters.reads
    store.capture()
    assert store.counters.reads == reads


@pytest.mark.parametrize("hints", [None, ["thing"], ["thing/inner"]], ids=["full", "itself", "beneath"])
def test_a_name_may_change_its_kind(place: Place, hints: list[str] | None) -> None:
    store = place.open()
    thing = place.workspace / "thing"
    place.write("other")
    place.write("thing", b"file")
    store.capture()
    thing.unlink()
    place.write("thing/inner", b"folder")
    assert place.names(store.capture(hints).tree) == {b"other", b"thing/inner"}
    (thing / "inner").unlink()
    thing.rmdir()
    thing.symlink_to("other")
    assert place.paths(store.capture(hints).tree)[b"thing"][0] == b"120000"
    thing.unlink()
    place.write("thing", b"file", mode=0o755)
    assert place.paths(store.capture(hints).tree)[b"thing"][0] == b"100755"
    thing.chmod(0o644)
    assert place.paths(store.capture(hints).tree)[b"thing"][0] == b"100644"
    thing.unlink()
    assert place.names(store.capture(hints).tree) == {b"other"}


def test_a_hint_may_name_a_folder_or_the_whole(place: Place) -> None:
    place.write("a/one")
    store = place.open()
    store.capture()
    place.write("a/two")
    place.write("a/b/three")
    place.write("other")
    assert place.names(store.capture(["a/"]).tree) == {b"a/one", b"a/two", b"a/b/three"}
    assert place.names(store.capture(["."]).tree) == {b"a/one", b"a/two", b"a/b/three", b"other"}


def test_a_hint_about_something_deleted_with_its_folder(place: Place) -> None:
    place.write("a/b/one")
    place.write("a/b/two")
    place.write("kept")
    store = place.open()
    store.capture()
    for name in ("a/b/one", "a/b/two"):
        (place.workspace / name).unlink()
    (place.workspace / "a/b").rmdir()
    (place.workspace / "a").rmdir()
    assert place.names(store.capture(["a/b/one"]).tree) == {b"kept"}


@pytest.mark.parametrize("hint", ["/etc/passwd", "../outside", "a/../../b", "nul\0"])
def test_hints_outside_the_workspace_are_refused(place: Place, hint: str) -> None:
    store = place.open()
    store.capture()
    place.write("seen later")
    with pytest.raises(WorkspaceError, match="not workspace-relative") as caught:
        store.capture([hint])
    assert caught.value.path == hint
    assert place.names(store.capture([]).tree) == {b"seen later"}, "a failure is followed by a full look"


def test_a_workspace_that_is_gone_is_an_error_and_not_an_empty_tree(place: Place) -> None:
    place.write("file")
    store = place.open()
    first = store.capture()
    place.workspace.rename(place.folder / "moved")
    for hints in (None, ["file"]):
        with pytest.raises(WorkspaceError, match="cannot be read"):
            store.capture(hints)
    (place.folder / "moved").rename(place.workspace)
    assert store.capture([]).tree == first.tree


def test_git_variables_have_no_influence(place: Place, tmp_path: Path) -> None:
    place.write("file")
    elsewhere = tmp_path / "elsewhere"
    program = (
        "import sys\nfrom rawko.workspace import SnapshotStore\n"
        "with SnapshotStore.open(sys.argv[1], sys.argv[2], run='r') as store:\n    print(store.capture().tree)\n"
    )
    names = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
    hostile = {**os.environ, **{name: str(elsewhere) for name in names}, "GIT_NAMESPACE": "other"}
    done = subprocess.run(
        [sys.executable, "-c", program, place.workspace, place.state],
        env=hostile, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert place.names(done.stdout.strip()) == {b"file"}
    assert not elsewhere.exists()
    assert place.git("for-each-ref", "--format=%(refname)") == b"refs/rawko/r\n"
