"""`rawko diff-charts` as it is typed: files, shipped charts, versions of git."""

from __future__ import annotations

import subprocess

import pytest

from tests.chart.comparing.test_comparing import DOOR
from tests.cli.shell import Shell


def test_versions_of_git_are_compared_from_any_folder(rawko: Shell) -> None:
    rawko.write("charts/door.yaml", DOOR)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "begin")):
        subprocess.run([*git, *words], cwd=rawko.folder, check=True, env=rawko.environ())
    rawko.write("charts/door.yaml", DOOR.replace("guard: is_unlocked", "guard: is_free"))
    done = rawko("diff-charts", "HEAD:charts/door.yaml", "charts/door.yaml")
    assert (done.code, "now OPEN [is_free]" in done.out) == (1, True), done.text
    same = rawko("diff-charts", "HEAD:charts/door.yaml", "HEAD:charts/door.yaml", "--json")
    assert (same.code, same.report["is_same"]) == (0, True), same.text
    as_json = rawko("diff-charts", "HEAD:charts/door.yaml", "charts/door.yaml", "--json").report
    assert as_json["states"][0]["transitions"][0]["parts"] == ["guard"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("missing.yaml", "agent_loop"), "there is no such file"),
        (("HEAD:missing.yaml", "agent_loop"), "accepted: a file, a shipped chart, or REV:FILE"),
        (("--output=x:y", "agent_loop"), "No such option"),
        (("agent_lop", "agent_loop"), "did you mean 'agent_loop'?"),
        (("broken.yaml", "agent_loop"), "broken.yaml:1"),
    ],
)
def test_what_names_no_chart_is_said(rawko: Shell, words: tuple[str, ...], told: str) -> None:
    rawko.write("broken.yaml", "statechart: {name: x}\n")
    done = rawko("diff-charts", *words)
    assert done.code == 2, done.text
    assert told in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("address", ["ssh://host/path", "ext::sh -c touch%20pwned"])
def test_a_repository_runs_nothing_by_itself(rawko: Shell, address: str) -> None:
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
    done = rawko("diff-charts", "HEAD:door.yaml", "door.yaml")
    assert done.code == 2, done.text
    assert "accepted: a file, a shipped chart, or REV:FILE" in done.err
    assert not (rawko.folder / "pwned").exists()
