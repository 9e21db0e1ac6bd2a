"""Runs are named as git names commits, and steps in one notation for all commands."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from hashlib import sha1
from itertools import count
from pathlib import Path

import pygit2
import pytest

from tests.cli.conftest import Typed
from tests.cli.shell import Shell, call, says
from tests.e2e.time_travel.recorded_run import Travel

WRITES = tuple(
    says("developer", call("write", file_path=f"{name}.txt", content=f"{name}\n")) for name in ("a", "b", "c")
)
DONE = says("developer", call("complete", summary="Done."))


@pytest.fixture
def travel(rawko: Shell, typed: Typed) -> Travel:
    return Travel(rawko, typed, *WRITES, DONE)


def rename(rawko: Shell, old: str, new: str) -> None:
    """Another run, as its folder alone: naming reads no more than that."""
    (runs,) = rawko.state.glob("*/runs")
    shutil.copytree(runs / old, runs / new)
    record = runs / new / "run.json"
    record.write_text(record.read_text().replace(old, new))


# ---------------------------------------------------------------- runs


@pytest.mark.parametrize("command", ["log", "show", "replay"])
def test_a_run_is_named_by_the_beginning_of_its_id_by_last_or_not_at_all(travel: Travel, command: str) -> None:
    whole = travel.typed(command, travel.run)
    assert whole.code == 0
    suffix = travel.run.rpartition("-")[2]
    for name in (travel.run[:12], suffix[:3], suffix, "last"):
        assert travel.typed(command, name).out == whole.out, name
    assert travel.typed(command).out == whole.out


def test_a_beginning_that_is_not_unique_is_refused_with_the_candidates(travel: Travel, rawko: Shell) -> None:
    twin = f"{travel.run[:-2]}zz"
    rename(rawko, travel.run, twin)
    refused = travel.typed("log", travel.run[:10])
    assert refused.code == 2 and not refused.out
    assert f"{travel.run[:10]!r} is the beginning of 2 runs; name one of them:" in refused.err
    for run in (travel.run, twin):
        assert f"\n  {run}  success       Write some files\n" in refused.err
    assert travel.typed("log", f"{twin[:-1]}").code == 0 and travel.typed("show", travel.run).code == 0


def test_last_is_the_youngest_and_an_exact_id_wins_over_a_longer_one(travel: Travel, rawko: Shell) -> None:
    rename(rawko, travel.run, f"{travel.run}0")
    assert travel.typed("show", travel.run).out.startswith(f"run {travel.run}\n")
    rename(rawko, travel.run, "99990101-000000-abcdef0")
    assert travel.typed("show", "last").out.startswith("run 99990101-000000-abcdef0\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("log",), "there are no runs of "),
        (("rewind", "@3"), "there are no runs of "),
        (("resume",), "there is no run to go on with in "),
        (("answer", "yes"), "no run asks anything in "),
        (("approve",), "no run asks anything in "),
        (("cancel",), "no run is open in "),
        (("tell", "hello"), "no run is open in "),
        (("log", "nothing"), "there is no run 'nothing' of this workspace; the latest: none"),
    ],
)
def test_where_no_run_fits_that_is_said(typed: Typed, words: tuple[str, ...], told: str) -> None:
    ended = typed(*words)
    assert (ended.code, ended.out) == (2, "") and told in ended.err


def test_the_one_run_that_asks_is_answered_without_a_name(rawko: Shell, typed: Typed) -> None:
    Travel(rawko, typed, *WRITES, DONE)
    asks = (says("developer", call("clarify", question="Tabs?")), says("developer", call("bash", command="true")), DONE)
    scenario = str(rawko.scenario(*asks, name="asks.yaml"))
    words = ("run", "Indent", "--agent", "developer", "--scenario", scenario, "--json")
    run = typed(*words).report["run"]
    asked = typed("answer", "spaces", "--json").report
    assert (asked["run"], asked["question"]["kind"]) == (run, "approval")
    assert typed("answer", run).err == "rawko: TEXT is missing; accepted: RUN TEXT, or TEXT alone\n"
    done = typed("approve", "--json").report
    assert (done["run"], done["outcome"]) == (run, "success")


def test_where_two_runs_ask_neither_is_guessed(rawko: Shell, typed: Typed) -> None:
    scenario = str(rawko.scenario(says("developer", call("clarify", question="Tabs?")), DONE))
    words = ("run", "Indent", "--agent", "developer", "--scenario", scenario, "--json")
    runs = [typed(*words).report["run"] for _ in range(2)]
    refused = typed("answer", "spaces")
    assert refused.code == 2 and "2 runs fit, and none is named; name one of them:" in refused.err
    assert all(f"\n  {run}  needs_person  Indent" in refused.err for run in runs)


def test_resume_and_continue_take_the_one_run_that_fits(travel: Travel) -> None:
    step = travel.after_tool(1)
    assert travel.typed("rewind", f"@{step}").code == 0
    resumed = travel.typed("resume", "--json", "--quiet").report
    assert (resumed["run"], resumed["outcome"]) == (travel.run, "success")
    followed = travel.typed(
        "run", "More", "--continue", "last", "--scenario", str(travel.rawko.scenario(DONE)), "--json"
    )
    assert followed.report["outcome"] == "success"
    assert travel.listed(followed.report["run"])["continues"] == travel.run


def test_a_hostile_task_in_a_list_of_candidates_sends_nothing_to_the_terminal(rawko: Shell, typed: Typed) -> None:
    run = Travel(rawko, typed, DONE).run
    (record,) = rawko.state.glob("*/runs/*/run.json")
    record.write_text(record.read_text().replace("Write some files", "x\\u001b]0;owned\\u0007\\u202ey"))
    rename(rawko, run, f"{run}0")
    refused = typed("log", run[:8])
    assert refused.code == 2 and all(char.isprintable() or char == "\n" for char in refused.err)


# ---------------------------------------------------------------- steps


def test_steps_are_named_by_number_from_the_end_and_by_snapshot(travel: Travel) -> None:
    steps = len(travel.log())
    assert shown(travel, "last") == steps
    assert shown(travel, "-1") == steps - 1
    assert shown(travel, "-3") == steps - 3
    assert shown(travel, "-0") == steps
    taken = travel.after_tool(2)
    commit = travel.log()[taken - 1]["event"]["data"]["output"]["snapshot"]["commit"]
    prefix = next(commit[:size] for size in range(4, 41) if not commit[:size].isdigit())
    assert shown(travel, prefix) == taken
    assert shown(travel, commit.upper()) == taken


def shown(travel: Travel, place: str) -> int:
    ended = travel.typed("show", f"@{place}", "--json")
    assert ended.code == 0, ended.err
    return int(ended.report["step"])


def test_a_rewind_and_back_again_work_as_a_person_expects(travel: Travel) -> None:
    end, step = len(travel.log()), travel.after_tool(1)
    assert travel.typed("rewind", f"@{step}").code == 0
    assert sorted(travel.files()) == ["a.txt"]
    assert (shown(travel, "last"), shown(travel, "-1")) == (end, end - 1)
    assert travel.typed("rewind", "@last").code == 0
    assert sorted(travel.files()) == ["a.txt", "b.txt", "c.txt"]
    assert travel.listed()["outcome"] == "success"
    assert shown(travel, "last") == end, "two rewinds stand after it, and neither is the run's end"


def test_steps_count_back_along_the_way_that_led_to_the_end(travel: Travel) -> None:
    end, step = len(travel.log()), travel.after_tool(1)
    travel.typed("rewind", f"@{step}")
    assert travel.resume().report["outcome"] == "success"
    numbers = [row["seq"] for row in travel.log() if not row["is_left_behind"] and row["actor"] != "run"]
    assert step in numbers and end not in numbers
    assert [shown(travel, f"-{back}") for back in (0, 1, len(numbers) - 1)] == [numbers[-1], numbers[-2], numbers[0]]
    assert numbers[numbers.index(step) + 1] > end + 1
    back = len(numbers) - numbers.index(step) - 1
    assert shown(travel, f"-{back}") == step
    refused = travel.typed("show", f"@-{len(numbers)}")
    assert refused.code == 2 and f"only {len(numbers) - 1} lead to its end" in refused.err


def test_files_that_were_set_back_are_no_end(travel: Travel) -> None:
    end = len(travel.log())
    assert travel.typed("rewind", f"@{travel.after_tool(1)}", "--files").code == 0
    assert shown(travel, "last") == end
    assert travel.typed("rewind", "@last", "--files").code == 0
    assert sorted(travel.files()) == ["a.txt", "b.txt", "c.txt"]


def test_a_snapshot_that_a_rewind_kept_is_named_for_its_files_alone(travel: Travel) -> None:
    (travel.rawko.folder / "a.txt").write_text("edited\n")
    kept = travel.typed("rewind", f"@{travel.after_tool(2)}", "--json").report["safety"]
    name = next(kept[:size] for size in range(7, 41) if not kept[:size].isdigit())
    refused = travel.typed("rewind", f"@{name}")
    assert refused.code == 2 and "belongs to no step" in refused.err
    assert f"rawko rewind {travel.run}@{kept[:12]} --files" in refused.err
    assert travel.typed("rewind", f"@{name}", "--files").code == 0
    assert travel.files()["a.txt"] == "edited\n"


def test_a_beginning_of_two_snapshots_is_refused_with_both(travel: Travel) -> None:
    alike = two_alike(travel)
    prefix = alike[0][:4]
    refused = travel.typed("show", f"@{prefix}")
    assert refused.code == 2 and f"{prefix!r} is the beginning of 2 snapshots" in refused.err
    assert all(commit[:12] in refused.err for commit in alike)
    assert travel.typed("diff", f"@{alike[0][:12]}", f"@{alike[1][:12]}", "--files").code == 0


def two_alike(travel: Travel) -> tuple[str, str]:
    """Two snapshots more in the run's chain, which begin with the same four characters."""
    (store,) = (path.parent for path in travel.rawko.state.rglob("refs") if path.is_dir())
    repository = pygit2.Repository(str(store))
    reference = repository.references[f"refs/rawko/{travel.run}"]
    last = reference.peel(pygit2.Commit)

    def written(parent: str, begins: Callable[[str], bool]) -> str:
        for number in count(last.commit_time):
            who = f"rawko <rawko@localhost> {number} +0000"
            text = f"tree {last.tree_id}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{last.message}".encode()
            if begins(sha1(b"commit %d\0%s" % (len(text), text)).hexdigest()):
                return str(repository.write(pygit2.enums.ObjectType.COMMIT, text))
        raise AssertionError

    one = written(str(last.id), lambda commit: not commit[:4].isdigit())
    two = written(one, lambda commit: commit[:4] == one[:4])
    reference.set_target(two)
    return one, two


def test_two_places_of_one_run_are_compared_in_one_notation(travel: Travel) -> None:
    one, two = travel.after_tool(1), travel.after_tool(3)
    whole = travel.typed("diff", travel.run, str(one), str(two), "--files").out
    assert "b.txt" in whole
    for words in ((f"{travel.run}@{one}", f"@{two}"), (f"@{one}", str(two)), ("last", f"@{one}", f"@{two}")):
        assert travel.typed("diff", *words, "--files").out == whole, words
    both = travel.typed("diff", "--files").out
    assert f"{travel.run}@1 → {travel.run}@{len(travel.log())}" in both


def test_a_step_of_a_fork_is_named_from_its_folder(travel: Travel, tmp_path: Path) -> None:
    into = tmp_path / "fork"
    fork = travel.typed("fork", f"@{travel.after_tool(2)}", "--into", str(into), "--json").report["run"]
    assert travel.typed("show", "last", cwd=into).out.startswith(f"run {fork}\n")
    assert travel.typed("show", "@last", "--json", cwd=into).report["step"] == 1


def test_the_latest_run_of_a_folder_is_no_fork_of_it(travel: Travel, tmp_path: Path) -> None:
    into = tmp_path / "fork"
    words = ("fork", f"@{travel.after_tool(2)}", "--into", str(into), "--json")
    fork = travel.typed(*words).report["run"]
    for name in ("", "last"):
        assert travel.typed("show", *filter(None, [name])).out.startswith(f"run {travel.run}\n")
        assert travel.typed("show", *filter(None, [name]), cwd=into).out.startswith(f"run {fork}\n")
    assert travel.typed("rewind", f"@{travel.after_tool(1)}").code == 0
    dry = travel.typed("resume", "--dry-run", "--json")
    assert (dry.code, dry.report["run"]) == (0, travel.run), dry.text
    dry = travel.typed("resume", "--dry-run", "--json", cwd=into)
    assert (dry.code, dry.report["run"]) == (0, fork), dry.text


def test_a_number_that_may_be_a_step_is_told(travel: Travel, rawko: Shell) -> None:
    rename(rawko, travel.run, "19990101-000000-9abcdef")
    taken = travel.typed("show", "9a")
    assert (taken.code, taken.err) == (0, ""), taken.text
    taken = travel.typed("show", "19")
    assert taken.out.startswith("run 19990101-000000-9abcdef\n")
    assert taken.err == "rawko: 19 is taken as the run 19990101-000000-9abcdef; the step is @19\n"
    assert travel.typed("show", "@1").err == ""
    unknown = travel.typed("show", "777")
    assert unknown.code == 2
    assert "there is no run '777' of this workspace; a step of the latest run is @777" in unknown.err
