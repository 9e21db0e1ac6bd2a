"""`rawko lab`: recorded decisions asked once more; real runs, real journals, answers from a scenario (S6-111)."""

from __future__ import annotations

import json
from typing import Any

from rawko.providers.cassette.file import read_cassette
from tests.cli.shell import judges, picks
from tests.cli.terminal import Terminal
from tests.e2e.lab.conftest import Laboratory
from tests.e2e.time_travel.recorded_run import files_of

SAME = (picks("developer"), judges("SELECT_MODE", mode="tester", reason="r"), judges("COMPLETE", summary="s"))
"""The recorded decisions, in other words."""


def row(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in found["variants"] if one["variant"] == name)


def test_a_decision_that_changes_is_told_with_what_it_was(lab: Laboratory) -> None:
    """S6-111: the unchanged question first, then each variant, decision by decision."""
    run = lab.run()
    judge = (
        picks("developer"),
        judges("SELECT_MODE", mode="tester", reason="it is written"),
        judges("CONTINUE", reason="not sure"),
        judges("COMPLETE", summary="All done."),
        judges("COMPLETE", summary="s"),
    )
    found = lab.found(run, "--without", "history", judge=judge)
    assert (found["decisions"], found["runs"]) == (3, [run])
    unchanged, without = row(found, "unchanged"), row(found, "without history")
    assert (unchanged["answers"], unchanged["same"], unchanged["agreement"]) == (3, 3, 1.0)
    assert unchanged["same_words"] == 3
    assert (without["answers"], without["same"], without["same_agent"], without["same_verdict"]) == (2, 1, 0 + 1, 1)
    assert without["unaffected"] == 1, "the first decision had no history"
    [changed] = without["changed"]
    asked = [one for one in found["answers"] if one["variant"] == "without history"]
    assert changed == {"run": run, "step": asked[0]["step"]}
    assert asked[0]["recorded"] == {"type": "SELECT_MODE", "agent": "tester", "words": "it is written"}
    assert asked[0]["answer"]["type"] == "CONTINUE" and asked[0]["answer"]["agent"] == "developer"
    assert without["tokens"]["saved"] > 0
    told = lab(run, "--without", "history", judge=judge)
    assert f"without history: {run}@{changed['step']} SELECT_MODE tester became CONTINUE developer" in told.out
    assert "5 of 5 answers (100%) were known from an earlier time" in told.out
    assert "5 questions, 5 of them answered already; no cost" in told.err


def test_a_question_that_is_built_again_is_the_one_that_was_sent(lab: Laboratory) -> None:
    """S6-111: bit by bit, as a recording of the run's calls shows, and as the run itself has noted."""
    tape = lab.rawko.folder.parent / "tape.yaml"
    run = lab.run(more=("--record", str(tape)))
    again = lab.rawko.folder.parent / "again.yaml"
    found = lab.found(run, "--without", "user_messages", "--record", str(again), judge=SAME)
    assert found["inputs"] == {"exact": 3, "changed": 0, "unknown": 0}

    def questions(path: Any) -> list[Any]:
        asked = [one.asked.request for one in read_cassette(path).exchanges]
        return [request for request in asked if request["purpose"] in ("select", "evaluate")]

    assert questions(tape) == questions(again)
    assert len(questions(tape)) == 3


def test_without_options_each_field_is_left_out_alone(lab: Laboratory) -> None:
    run = lab.run()
    found = lab.found(run, "--limit", "1", judge=tuple(picks("developer", times=20) for _ in range(1)))
    assert found["decisions"] == 1 and found["left_out"] == 2
    names = [one["variant"] for one in found["variants"]]
    assert names[0] == "unchanged" and {"without plan", "without history", "without limits"} < set(names)
    assert row(found, "without plan")["unaffected"] == 1, "there was no plan"
    assert row(found, "without limits")["answers"] == 1


def test_the_models_own_noise_is_the_measure(lab: Laboratory) -> None:
    """A decision that the unchanged question does not repeat is not held against a variant."""
    run = lab.run()
    judge = (picks("developer"), picks("tester"), picks("tester"), picks("tester"))
    noisy = lab.found(run, "--limit", "1", "--without", "limits", "--repeat", "2", judge=judge)
    assert row(noisy, "unchanged")["agreement"] == 0.5
    assert row(noisy, "without limits")["agreement"] == 0.0
    assert row(noisy, "without limits")["changed"] == []
    judge = (picks("developer"), picks("developer"), picks("tester"), picks("tester"))
    calm = lab.found(run, "--limit", "1", "--without", "limits", "--repeat", "2", judge=judge)
    assert len(row(calm, "without limits")["changed"]) == 1


def test_other_windows_models_and_templates(lab: Laboratory) -> None:
    run = lab.run()
    template = lab.rawko.folder.parent / "evaluate.md.j2"
    template.write_text("Judge: {{ last.agent }}.", encoding="utf-8")
    words = ("--window", "full_chars=3", "--model", "other-model", "--template", str(template))
    found = lab.found(run, *words, judge=(picks("developer", times=9), {**judges("COMPLETE", summary="s"), "times": 9}))
    window, model = row(found, "window full_chars=3"), row(found, "model other-model")
    assert (window["answers"], window["unaffected"]) == (2, 1), "an agent is chosen without the whole output"
    assert model["answers"] == 3
    asked = row(found, f"template {template}")
    assert (asked["answers"], asked["unaffected"]) == (2, 1)
    assert asked["tokens"]["saved_part"] > 0.5
    assert window["tokens"]["saved"] < 0, "where the whole of an output can be opened is longer than the output"


def test_nothing_of_a_run_or_of_the_workspace_is_changed(lab: Laboratory) -> None:
    run = lab.run()

    def everything() -> dict[str, bytes]:
        kept = {path for path in lab.rawko.state.rglob("*") if path.is_file() and "arbiter-answers" not in path.parts}
        return {str(path): path.read_bytes() for path in kept if not path.name.endswith(("-shm", "-wal"))}

    before, files, log = everything(), files_of(lab.rawko.folder), lab.typed("log", run, "--all", "--json").out
    lab.found(run, judge=(picks("developer", times=50), {**judges("COMPLETE", summary="s"), "times": 50}))
    assert everything().keys() == before.keys()
    assert files_of(lab.rawko.folder) == files
    assert lab.typed("log", run, "--all", "--json").out == log


def test_several_runs_are_asked_together(lab: Laboratory) -> None:
    runs = [lab.run(), lab.run()]
    found = lab.found(*runs, "--without", "limits", judge=(*SAME[:1], *SAME[1:]) * 4)
    assert found["decisions"] == 6
    assert {one["run"] for one in found["answers"]} == set(runs)


def test_an_answer_that_is_no_decision_disagrees(lab: Laboratory) -> None:
    run = lab.run()
    judge = (picks("developer"), {"purpose": "select", "text": "Hm.", "times": 3})
    found = lab.found(run, "--limit", "1", "--without", "limits", judge=judge)
    assert row(found, "without limits")["unusable"] == 1
    assert row(found, "without limits")["same"] == 0
    assert "no usable decision" in json.dumps(found["answers"])


def test_a_window_that_the_run_had_changes_nothing(lab: Laboratory) -> None:
    """The question is made of the recorded context again, at the recorded time: it comes out as it was."""
    run = lab.run()
    found = lab.found(run, "--window", "history_select=10,full_chars=2000", judge=SAME)
    assert row(found, "window history_select=10,full_chars=2000")["unaffected"] == 3


def test_a_person_sees_how_far_it_is_and_a_table_that_fits(lab: Laboratory) -> None:
    run = lab.run()
    judge = lab.judge(picks("developer"), picks("tester"), picks("developer", delay="400ms"))
    words = (
        "lab",
        run,
        "--limit",
        "1",
        "--without",
        "limits",
        "--without",
        "plan",
        "--model",
        "x",
        "--scenario",
        str(judge),
    )
    with Terminal(lab.rawko, *words, size=(80, 24)) as terminal:
        terminal.wait_for("2 of 3 answers")
        assert terminal.end() == 0
        shown = terminal.screen()
    assert "of 3 answers" not in shown
    assert f"without limits: {run}@" in shown and "SELECT_MODE developer became SELECT_MODE tester" in shown.replace(
        "\n", ""
    )
    [titles] = [line for line in shown.splitlines() if line.startswith("variant ")]
    assert titles.split() == ["variant", "same", "changed", "tokens", "saved", "cost"]


def test_a_real_server_is_asked_and_the_model_that_had_decided(lab: Laboratory, llmock: Any) -> None:
    """Over HTTP, with the real SDK: the run had fallen back to another model, which is asked again."""
    llmock.tool_mode("off")
    env = {"ANTHROPIC_BASE_URL": llmock.base_url("anthropic"), "ANTHROPIC_API_KEY": "sk-ant-none-of-anybody"}
    lab.rawko.write(".rawko/config.yaml", "timeout_ms: 5000\nfallback: {model: model-b, after: 0}\n")
    llmock.fail(529)
    llmock.reply(json.dumps({"type": "COMPLETE", "summary": "Nothing to do."}))
    run = lab.typed("run", "Write it", "--model", "model-a", "--yes", "--json", "--quiet", env=env).report["run"]
    llmock.reply(json.dumps({"type": "COMPLETE", "summary": "Nothing to do."}))
    llmock.reply(json.dumps({"type": "ABORT", "reason": "No limits."}))
    told = lab.typed("lab", run, "--without", "limits", "--json", env=env)
    assert told.code == 0, told.text
    assert told.report["inputs"] == {"exact": 1, "changed": 0, "unknown": 0}
    assert [row(told.report, name)["same"] for name in ("unchanged", "without limits")] == [1, 0]
    assert row(told.report, "unchanged")["tokens"]["unchanged"] > 0
    models = [request.body["model"] for request in llmock.requests]
    assert models == ["model-a", "model-b", "model-b", "model-b"]
