"""Bad paths: every argument and option that takes a path refuses what it cannot use, and nothing is created."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from rawko.cli.commands.application import application
from tests.cli.authoring.test_simulate import DOOR
from tests.cli.shell import Shell, call, says

PATHS = frozenset({"FILE", "DIR", "FOLDER", "CHART", "CHART...", "FILE.html", "TASKS"})
"""What arguments and options that take a path are called in the help."""
POLICY = "rules: [{expect: x, send: {literal: y}}]\n"


class Row(NamedTuple):
    """How a path is given.

    Attributes:
        words: The command line; `{}` stands for the path.
        good: Name and text of a file, or of a folder (no text), that is accepted; for near names.
        env: More of the environment.
        needs_run: The folder has a run, whose id is `last`.
    """

    words: str
    good: tuple[str, str | None]
    needs_run: bool = False


CHART = ("door.yaml", DOOR)
PLAN = ("plan.yaml", "steps: [{id: a, task: Work}]\n")
SCENARIO = ("story.yaml", "scenario: story\nreplies: []\n")
READ: Mapping[tuple[str, str], Row] = {
    ("run", "--scenario"): Row("run Work --agent developer --yes --scenario {}", SCENARIO),
    ("run", "--cassette"): Row("run Work --agent developer --yes --cassette {}", ("tape.jsonl", "{}\n")),
    ("run", "--agents"): Row("run Work --yes --scenario fizzbuzz --agents {}", ("workers", None)),
    ("parallel", "--plan"): Row("parallel Work --yes --scenario ../scenario.yaml --plan {}", PLAN),
    ("lab", "--template"): Row("lab last --template select={}", ("select.md.j2", "x"), needs_run=True),
    ("submit", "--scenario"): Row("submit Work --scenario {}", SCENARIO),
    ("submit", "--cassette"): Row("submit Work --cassette {}", ("tape.jsonl", "{}\n")),
    ("submit", "--agents"): Row("submit Work --agents {}", ("workers", None)),
    ("submit", "--batch"): Row("submit --batch {}", ("tasks.yaml", "tasks: [{task: Work}]\n")),
    ("eval", "TASKS"): Row("eval {} --scenario ../scenario.yaml", ("tasks", None)),
    ("explore", "--policy"): Row("explore --policy {} true", ("policy.yaml", POLICY)),
    ("explore", "--scenario"): Row("explore --goal Look --scenario {} true", SCENARIO),
    ("check", "CHART..."): Row("check {}", CHART),
    ("fmt", "CHART..."): Row("fmt {}", CHART),
    ("test", "CHART..."): Row("test {}", CHART),
    ("prove", "CHART"): Row("prove {}", CHART),
    ("prove", "--bounds"): Row("prove ../door.yaml --bounds {}", ("door.bounds.yml", "budget_guards: []\n")),
    ("prove", "--monitor"): Row("prove ../door.yaml --monitor {}", CHART),
    ("prove", "--write"): Row("prove ../door.yaml --write {}", ("scenarios", None)),
    ("prove", "--draw"): Row("prove ../door.yaml --draw {}", ("pictures", None)),
    ("paths", "CHART"): Row("paths {}", CHART),
    ("paths", "--write"): Row("paths ../door.yaml --write {}", ("scenarios", None)),
    ("simulate", "CHART"): Row("simulate {}", CHART),
    ("diagram", "CHART"): Row("diagram {} -o door.svg", CHART),
    ("export", "CHART"): Row("export {} --to sismic", CHART),
    ("import", "FILE"): Row("import {}", ("machine.scxml", "<scxml/>")),
    ("trust", "FOLDER"): Row("trust {}", ("project", None)),
    ("resume", "--workspace"): Row("resume last --workspace {}", ("project", None), needs_run=True),
}
WRITTEN: Mapping[tuple[str, str], Row] = {
    ("run", "--record"): Row("run Work --agent developer --scenario ../scenario.yaml --record {}", ("tape.jsonl", "")),
    ("submit", "--record"): Row("submit Work --scenario ../scenario.yaml --record {}", ("tape.jsonl", "")),
    ("eval", "--output"): Row("eval ../tasks --trust --scenario ../scenario.yaml -o {}", ("found.html", "")),
    ("explore", "--output"): Row("explore --policy ../policy.yaml -o {} true", ("page.html", "")),
    ("diagram", "--output"): Row("diagram ../door.yaml -o {}", ("door.svg", "")),
    ("diff-charts", "--output"): Row("diff-charts ../door.yaml ../door.yaml -o {}", ("both.svg", "")),
    ("prove", "--sarif"): Row("prove ../door.yaml --sarif {}", ("found.sarif", "")),
    ("test", "--html"): Row("test ../door.yaml --html {}", ("found.html", "")),
    ("test", "--junit"): Row("test ../door.yaml --junit {}", ("found.xml", "")),
    ("prove", "--junit"): Row("prove ../door.yaml --junit {}", ("found.xml", "")),
    ("export", "--output"): Row("export ../door.yaml --to sismic -o {}", ("out.yaml", "")),
    ("import", "--output"): Row("import ../machine.scxml -o {}", ("out.yaml", "")),
    ("schema", "--output"): Row("schema chart -o {}", ("schema.json", "")),
    ("report", "--output"): Row("report last -o {}", ("run.html", ""), needs_run=True),
    ("pin", "--output"): Row("pin last@4 -o {}", ("pinned.feature", ""), needs_run=True),
    ("fork", "--into"): Row("fork last@4 --into {}", ("forked", None), needs_run=True),
}


AS_OF_RUN = {
    *(("chat", option) for option in ("--scenario", "--cassette", "--agents")),
    *(("gauntlet", option) for option in ("--scenario", "--cassette", "--agents", "--record")),
    *(("parallel", option) for option in ("--scenario", "--cassette", "--agents", "--record")),
    *(("debate", option) for option in ("--scenario", "--cassette", "--agents", "--record")),
    *(("race", option) for option in ("--scenario", "--cassette", "--record")),
    *(("lab", option) for option in ("--scenario", "--cassette", "--record")),
    *(("eval", option) for option in ("--scenario", "--cassette", "--agents", "--record")),
}
"""Declared by the same rows of the settings as those of `run`, and read by the same code."""


def declared() -> Iterator[tuple[str, str]]:
    """Every argument and option that takes a path, by its command."""

    def walk(command: object, name: str) -> Iterator[tuple[str, str]]:
        for inner, one in getattr(command, "commands", {}).items():
            yield from walk(one, f"{name} {inner}".strip())
        for one in getattr(command, "params", ()):
            is_path = one.bare_type is Path or one.metavar in PATHS or "--scenario" in one.opts
            if is_path:
                option = next((opt for opt in one.opts if opt.startswith("--")), None)
                yield name, option or str(one.metavar)

    return walk(typer.main.get_command(application()), "")


def test_every_path_of_the_command_line_has_its_row() -> None:
    assert set(declared()) == {*READ, *WRITTEN, *AS_OF_RUN}


@pytest.fixture
def place(rawko: Shell) -> Shell:
    """What the good parts of the commands need lies beside the folder, which is empty."""
    rawko.passed_on = frozenset({"ANTHROPIC_API_KEY"})
    base = rawko.folder.parent
    (base / "door.yaml").write_text(DOOR, encoding="utf-8")
    (base / "tasks" / "out").mkdir(parents=True)
    (base / "tasks" / "out" / "task.yaml").write_text("task: Work\nchecks: [{exists: a.txt}]\n", encoding="utf-8")
    (base / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (base / "machine.scxml").write_text(
        '<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0"><state id="a"/></scxml>', encoding="utf-8"
    )
    (base / "scenario.yaml").write_text('{"scenario": "s", "replies": []}', encoding="utf-8")
    return rawko


def a_run(rawko: Shell) -> None:
    replies = (
        says("developer", call("write", file_path="a.txt", content="a")),
        says("developer", call("complete", summary=".")),
    )
    words = ("run", "Work", "--agent", "developer", "--yes", "--scenario", str(rawko.scenario(*replies)))
    assert rawko(*words).code == 0


def listing(folder: Path) -> list[tuple[str, bool]]:
    return sorted((str(path.relative_to(folder)), path.is_dir()) for path in folder.rglob("*"))


def refused(rawko: Shell, row: Row, path: str) -> str:
    """What is said of a path that cannot be used."""
    before = listing(rawko.folder)
    words = [word.replace("{}", path) for word in row.words.split()]
    ended = rawko(*words, env={"ANTHROPIC_API_KEY": "k"}, stdin="", timeout_s=60)
    assert ended.code == 2, (words, ended)
    said = [line for line in ended.text.splitlines() if line.strip()]
    told = [line for line in said if Path(path).name in line]
    assert len(told) == 1 and len(said) <= 4 and len(told[0]) < 600, ended
    assert listing(rawko.folder) == before, "something was created"
    return told[0]


def is_folder_wanted(row: Row) -> bool:
    return row.good[1] is None


def read_rows(turn: int) -> pytest.MarkDecorator:
    """Every third of the rows, and the others among the tests that take longer: three turns are all of them."""
    rows = [
        pytest.param(row, id=" ".join(key), marks=() if number % 3 == turn else pytest.mark.thorough)
        for number, (key, row) in enumerate(READ.items())
    ]
    return pytest.mark.parametrize("row", rows)


def written_rows() -> pytest.MarkDecorator:
    """Every row in one of the ways in which nothing can be written, in turns; the others among the tests that take
    longer."""
    rows = [
        pytest.param(
            row,
            *spoil,
            id=f"{way}-{' '.join(key)}",
            marks=() if (number - turn) % len(SPOILS) == 0 else pytest.mark.thorough,
        )
        for turn, (way, spoil) in enumerate(SPOILS.items())
        for number, (key, row) in enumerate(WRITTEN.items())
    ]
    return pytest.mark.parametrize(("row", "name", "spoil"), rows)


READ_ROWS = pytest.mark.parametrize("row", READ.values(), ids=[" ".join(key) for key in READ])


def _make_good(rawko: Shell, row: Row) -> None:
    name, text = row.good
    if text is None:
        (rawko.folder / name).mkdir(exist_ok=True)
    else:
        rawko.write(name, text)


@READ_ROWS
def test_what_is_missing(place: Shell, row: Row) -> None:
    if row.needs_run:
        a_run(place)
    told = refused(place, row, f"nowhere-{row.good[0]}")
    assert any(words in told for words in ("no such", "there is no", "No such", "is no folder")), told
    refused(place, row, f"no/such/{row.good[0]}")


@read_rows(0)
def test_a_near_name_is_offered(place: Shell, row: Row) -> None:
    if row.needs_run:
        a_run(place)
    _make_good(place, row)
    name = row.good[0]
    told = refused(place, row, f"{name[:2]}{name[3:]}")
    assert "did you mean" in told and name in told, told


@read_rows(1)
def test_a_file_for_a_folder_and_the_other_way_round(place: Shell, row: Row) -> None:
    if row.needs_run:
        a_run(place)
    wrong = f"wrong-{row.good[0]}"
    if is_folder_wanted(row):
        place.write(wrong, "text\n")
    else:
        (place.folder / wrong).mkdir()
    told = refused(place, row, wrong)
    assert "folder" in told or "directory" in told or "no regular file" in told, told


@read_rows(2)
def test_a_pipe_is_never_waited_for(place: Shell, row: Row) -> None:
    if row.needs_run:
        a_run(place)
    os.mkfifo(place.folder / f"pipe-{row.good[0]}")
    refused(place, row, f"pipe-{row.good[0]}")


@read_rows(0)
def test_a_link_that_leads_nowhere(place: Shell, row: Row) -> None:
    if row.needs_run:
        a_run(place)
    (place.folder / f"link-{row.good[0]}").symlink_to("gone")
    refused(place, row, f"link-{row.good[0]}")


@read_rows(1)
@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_what_may_not_be_read(place: Shell, row: Row) -> None:
    if row.needs_run:
        a_run(place)
    _make_good(place, row)
    path = place.folder / row.good[0]
    path.chmod(0)
    try:
        refused(place, row, row.good[0])
    finally:
        path.chmod(0o700)


Spoil = Callable[[Path], object]
SPOILS: Mapping[str, tuple[str, Spoil]] = {
    "into a folder that does not exist": ("no/such/{}", lambda path: None),
    "onto a folder": ("{}", lambda path: path.mkdir()),
    "below a file": ("file/{}", lambda path: path.parent.write_text("x", encoding="utf-8")),
    "onto a pipe": ("{}", os.mkfifo),
    "through a link that leads nowhere": ("{}", lambda path: path.symlink_to("no/such/place")),
}


@written_rows()
def test_where_nothing_can_be_written(place: Shell, row: Row, name: str, spoil: Spoil) -> None:
    if row.needs_run:
        a_run(place)
    path = name.format(row.good[0])
    spoil(place.folder / path)
    refused(place, row, path)
