"""`rawko diff-charts` as it is typed: files, shipped charts, versions of git."""

from __future__ import annotations

import subprocess

import pytest

from tests.chart.comparing.test_comparing import DOOR
from tests.cli.conftest import Typed
from tests.cli.shell import Shell


def test_versions_of_git_are_compared_from_any_folder(rawko: Shell, typed: Typed) -> None:
    rawko.write("charts/door.yaml", DOOR)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "begin")):
        subprocess.run([*git, *words], cwd=rawko.folder, check=True, env=rawko.environ())
    rawko.write("charts/door.yaml", DOOR.replace("guard: is_unlocked", "guard: is_free"))
    done = typed("diff-charts", "HEAD:charts/door.yaml", "charts/door.yaml")
    assert (done.code, "now OPEN [is_free]" in done.out) == (1, True), done.text
    same = typed("diff-charts", "HEAD:charts/door.yaml", "HEAD:charts/door.yaml", "--json")
    assert (same.code, same.report["is_same"]) == (0, True), same.text
    as_json = typed("diff-charts", "HEAD:charts/door.yaml", "charts/door.yaml", "--json").report
    assert as_json["states"][0]["transitions"][0]["parts"] == ["guard"]


def test_a_file_that_is_named_like_a_revision_does_not_stand_in_for_it(rawko: Shell, typed: Typed) -> None:
    rawko.write("door.yaml", DOOR)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "begin")):
        subprocess.run([*git, *words], cwd=rawko.folder, check=True, env=rawko.environ())
    changed = DOOR.replace("guard: is_unlocked", "guard: is_free")
    rawko.write("door.yaml", changed)
    rawko.write("HEAD:door.yaml", changed)
    done = typed("diff-charts", "HEAD:door.yaml", "door.yaml")
    assert (done.code, "now OPEN [is_free]" in done.out) == (1, True), done.text
    assert "HEAD:door.yaml: the revision of git is compared; the file of that name is ./HEAD:door.yaml" in done.err
    assert typed("diff-charts", "./HEAD:door.yaml", "door.yaml").code == 0
    rawko.write("draft:door.yaml", changed)  # there is no such revision
    other = typed("diff-charts", "draft:door.yaml", "door.yaml")
    assert (other.code, other.err) == (0, "")


def test_both_are_drawn_as_one_picture(rawko: Shell, typed: Typed) -> None:
    rawko.write("a.yaml", DOOR)
    rawko.write("b.yaml", DOOR.replace("guard: is_unlocked", "guard: is_free"))
    done = typed("diff-charts", "a.yaml", "b.yaml", "-o", "d.svg", "--theme", "auto")
    assert (done.code, done.err) == (1, "wrote d.svg\n") and "now OPEN [is_free]" in done.out
    assert "~ changed" in rawko.read("d.svg")
    same = typed("diff-charts", "a.yaml", "a.yaml", "-o", "same.svg")
    assert (same.code, same.out) == (0, "the charts are the same\n")
    assert "~ changed" not in rawko.read("same.svg")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--output=x:y", "agent_loop", "agent_loop"), "format '' is not known; accepted: .svg, .png, .dot, .puml"),
        (("-o", "x.mmd", "agent_loop", "agent_loop"), "x.mmd: format '.mmd' is not known; accepted: .svg"),
        (("-o", "no/x.svg", "agent_loop", "agent_loop"), "no/x.svg"),
        (("-o", "x.svg", "--theme", "drak", "agent_loop", "agent_loop"), "accepted: light, dark, auto"),
        (("missing.yaml", "agent_loop"), "there is no such file"),
        (("HEAD:missing.yaml", "agent_loop"), "accepted: a file, a shipped chart, or REV:FILE"),
        (("agent_lop", "agent_loop"), "did you mean 'agent_loop'?"),
        (("broken.yaml", "agent_loop"), "broken.yaml:1"),
    ],
)
def test_what_names_no_chart_is_said(rawko: Shell, typed: Typed, words: tuple[str, ...], told: str) -> None:
    rawko.write("broken.yaml", "statechart: {name: x}\n")
    done = typed("diff-charts", *words)
    assert done.code == 2, done.text
    assert told in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("address", ["ssh://host/path", "ext::sh -c touch%20pwned"])
def test_a_repository_runs_nothing_by_itself(rawko: Shell, typed: Typed, address: str) -> None:
    """Its settings say that what is missing is to be fetched, and by which command."""
    rawko.write("door.yaml", DOOR)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "begin")):
        subprocess.run([*git, *words], cwd=rawko.folder, check=True, env=rawko.environ())
    named = subprocess.run(
        ["git", "rev-parse", "HEAD:door.yaml"], cwd=rawko.folder, check=True, capture_output=True, text=True
    ).stdout.strip()
    (rawko.folder / ".git/objects" / named[:2] / named[2:]).unlink()
    touch = f"touch {rawko.folder / 'pwned'}"
    for name, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialclone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", address),
        ("core.sshCommand", touch),
        ("core.fsmonitor", touch),
        ("core.pager", touch),
        ("diff.external", touch),
    ):
        subprocess.run(["git", "config", name, value], cwd=rawko.folder, check=True)
    done = typed("diff-charts", "HEAD:door.yaml", "door.yaml")
    assert done.code == 2, done.text
    assert "accepted: a file, a shipped chart, or REV:FILE" in done.err
    assert not (rawko.folder / "pwned").exists()
