"""git's own settings in a project, which name a pipe: nothing waits for it, and no program is taken for absent."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rawko.app.time_travel.user_git import GitTimeoutError, Repository, head_of, own_programs, repository_around
from rawko.workspace import SnapshotStore

SHORT_S = 0.2


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    """A repository whose settings include a pipe that nobody writes."""
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", "."], cwd=folder, check=True)
    os.mkfifo(folder / "pipe")
    with (folder / ".git" / "config").open("a") as file:
        file.write("[include]\n\tpath = ../pipe\n")
    return folder


def test_a_pipe_among_gits_settings_holds_up_no_run(stuck: Path) -> None:
    assert head_of(stuck, os.environ, SHORT_S) is None


def test_a_repository_that_does_not_answer_is_not_taken_for_none(stuck: Path) -> None:
    with pytest.raises(GitTimeoutError, match=r"git rev-parse: has not ended within 0\.2 s; .* may be a pipe"):
        repository_around(stuck, os.environ, SHORT_S)


def test_filters_that_cannot_be_listed_are_not_taken_for_none(stuck: Path) -> None:
    repository = Repository(stuck / ".git", stuck, "", dict(os.environ))
    with pytest.raises(GitTimeoutError):
        own_programs(repository, SHORT_S)


@pytest.mark.parametrize("name", [".git", ".git/index", ".git/commondir"])
def test_a_pipe_in_place_of_a_file_of_git_holds_up_no_snapshot(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "kept.txt").write_text("x")
    if name != ".git":
        subprocess.run(["git", "init", "--quiet", "."], cwd=folder, check=True)
    os.mkfifo(folder / name)
    with SnapshotStore.open(folder, tmp_path / "state", run="20261123-100000-abcdef0") as store:
        store.capture()
