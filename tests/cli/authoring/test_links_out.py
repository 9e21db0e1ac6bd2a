"""Commands that write files of a project write none outside of it, where a link of the project leads out."""

from __future__ import annotations

import os

import pytest

from tests.cli.conftest import Typed
from tests.cli.shell import Shell
from tests.cli.test_commands import CHART

BAD_INPUT = 2


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (".rawko/agents", ("new", "agent", "translator")),
        (".rawko", ("new", "agent", "translator")),
        (".rawko", ("init",)),
        (".rawko/agents", ("init", "--force")),
        (".rawko/schema", ("init",)),
    ],
)
def test_no_file_is_written_behind_a_link_that_leads_out(
    typed: Typed, rawko: Shell, link: str, words: tuple[str, ...]
) -> None:
    outside = rawko.folder.parent / "outside"
    outside.mkdir()
    path = rawko.folder / link
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside)
    done = typed(*words)
    assert done.code == BAD_INPUT
    assert f"a link leads out of the folder, to '{outside}" in done.err
    assert done.err.endswith("nothing was written\n")
    assert not list(outside.iterdir())


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (".rawko/config.yaml", ("init",)),
        (".rawko/schema/agent.json", ("init",)),
        ("pyproject.toml", ("new", "machine", "pair")),
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_no_file_is_written_through_a_link_that_leads_out(
    typed: Typed, rawko: Shell, link: str, words: tuple[str, ...], *, is_there: bool
) -> None:
    outside = rawko.folder.parent / "outside"
    if is_there:
        outside.write_text("")
    path = rawko.folder / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(outside)
    done = typed(*words)
    assert done.code == BAD_INPUT
    assert "a link leads out of the folder" in done.err
    assert (outside.read_text() if is_there else outside.exists()) in ("", False)


def test_a_pipe_in_place_of_a_file_holds_up_nothing(typed: Typed, rawko: Shell) -> None:
    (rawko.folder / ".rawko" / "schema").mkdir(parents=True)
    os.mkfifo(rawko.folder / ".rawko" / "schema" / "config.json")
    done = typed("init")
    assert (done.code, done.err) == (
        BAD_INPUT,
        "rawko: .rawko/schema/config.json: it is no file; nothing was written\n",
    )
    assert not (rawko.folder / ".rawko" / "config.yaml").exists()


def test_links_inside_the_project_are_followed(typed: Typed, rawko: Shell) -> None:
    (rawko.folder / "kept").mkdir()
    (rawko.folder / ".rawko").mkdir()
    (rawko.folder / ".rawko" / "agents").symlink_to("../kept")
    assert typed("new", "agent", "translator").code == 0
    assert (rawko.folder / "kept" / "translator.yaml").is_file()


def test_no_scenario_is_written_through_a_link_that_leads_out(typed: Typed, rawko: Shell) -> None:
    rawko.write("door.yaml", CHART)
    (rawko.folder / "door.feature").symlink_to(rawko.folder.parent / "outside")
    done = typed("paths", "door.yaml", "--write", ".")
    assert done.code == BAD_INPUT
    assert "door.feature: a link leads out of the folder" in done.err
    assert not (rawko.folder.parent / "outside").exists()


def test_no_chart_is_copied_through_a_link_that_leads_out(typed: Typed, rawko: Shell) -> None:
    rawko.write("door.yaml", CHART)
    (rawko.folder / "found").mkdir()
    (rawko.folder / "found" / "door.yaml").symlink_to(rawko.folder.parent / "outside")
    done = typed("paths", "door.yaml", "--write", "found")
    assert done.code == BAD_INPUT
    assert "found/door.yaml: a link leads out of the folder" in done.err
    assert not (rawko.folder.parent / "outside").exists()
