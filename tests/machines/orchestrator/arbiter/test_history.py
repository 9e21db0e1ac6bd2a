"""Executions as summaries: which ones, how long, how well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rawko.machines.orchestrator.arbiter.history import (
    build_execution_history,
    build_execution_summary,
    performances,
    truncate,
)
from rawko.machines.orchestrator.context import ExecutionEntry

Run = Callable[..., dict[str, Any]]
CHANGE = {"path": "a.py", "kind": "modified", "added_lines": 3, "removed_lines": 1, "is_binary": False}


def entries(results: str) -> list[dict[str, Any]]:
    """One entry per letter: s success, f failure, t timeout, l limit, c cancelled; numbered from 1."""
    names = {"s": "success", "f": "failure", "t": "timeout", "l": "limit", "c": "cancelled"}
    return [
        ExecutionEntry.model_validate(
            {"agent": "developer", "iteration": i, "started_at": 0, "completed_at": 1, "result": names[letter]}
        ).to_json()
        for i, letter in enumerate(results, start=1)
    ]


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("", 3, ""),
        ("abc", 3, "abc"),
        ("abcd", 3, "abc..."),
        ("äöüß", 3, "äöü..."),
        ("🙂🙂🙂🙂", 3, "🙂🙂🙂..."),
        ("abc", 0, "..."),
    ],
)
def test_the_cut_is_at_characters_and_marked_beyond_the_limit(text: str, limit: int, cut: str) -> None:
    """S6-031, C-14."""
    assert truncate(text, limit) == cut


def test_a_summary_has_every_field(run: Run) -> None:
    """S6-030, C-41, C-48."""
    usage = {"input_tokens": 2000, "output_tokens": 1230, "cache_read_tokens": 60, "cache_write_tokens": 40, "calls": 3}
    error = {"message": "no", "category": "tool_failure", "tool": "bash", "plan_step": 2}
    entry = run(
        agent="developer", iteration=4, started_at=1000, completed_at=3500, result="failure", output="o" * 2500,
        error=error, usage=usage, files_changed=["b.py", "a.py"], changes=[CHANGE], steps_completed=[2],
    )  # fmt: skip
    summary = build_execution_summary(entry, now_ms=9999, summary_chars=500, full_chars=2000).to_json()
    assert summary == {
        "agent": "developer",
        "iteration": 4,
        "status": "failure",
        "duration_ms": 2500,
        "output": {
            "summary": "o" * 500 + "...",
            "full": "o" * 2000 + "...",
            "chars": 2500,
            "files_modified": ["b.py", "a.py"],
            "changes": [CHANGE],
            "steps_completed": [2],
        },
        "error": {"message": "no", "category": "tool_failure", "step": 2, "tool": "bash", "recovery_options": []},
        "tokens": {"input": 2100, "output": 1230, "total": 3330},
        "started_at": "1970-01-01T00:00:01.000Z",
        "completed_at": "1970-01-01T00:00:03.500Z",
    }


def test_empty_is_not_missing(run: Run) -> None:
    """C-43: "" is an output, None is none; an error with an empty message is an error."""
    assert build_execution_summary(run(output=""), now_ms=0).to_json()["output"]["summary"] == ""
    assert build_execution_summary(run(output=None), now_ms=0).output is None
    failed = run(result="failure", error={"message": "", "category": "unknown"})
    assert build_execution_summary(failed, now_ms=0).to_json()["error"]["message"] == ""


def test_files_stand_even_without_words(run: Run) -> None:
    """S6-031: key information is kept."""
    output = build_execution_summary(run(files_changed=["a.py"]), now_ms=0).to_json()["output"]
    assert output == {
        "summary": None, "full": None, "chars": None, "files_modified": ["a.py"], "changes": [], "steps_completed": [],
    }  # fmt: skip


def test_only_the_last_execution_says_what_became_of_its_files(run: Run) -> None:
    """AL-103; entries of older records have no such field."""
    entry = run(files_changed=["b.py"], changes=[CHANGE])
    built = build_execution_history([entry, entry], max_entries=2, now_ms=0)
    assert [one.to_json()["output"]["changes"] for one in built] == [[], [CHANGE]]
    older = {name: value for name, value in entry.items() if name != "changes"}
    assert build_execution_summary(older, now_ms=0).to_json()["output"]["changes"] == []


def test_what_still_runs_lasts_until_now(run: Run) -> None:
    """C-43."""
    summary = build_execution_summary(run(started_at=1000, completed_at=None), now_ms=4000)
    assert (summary.duration_ms, summary.completed_at) == (3000, None)


def test_a_clock_that_went_back_gives_no_negative_duration(run: Run) -> None:
    assert build_execution_summary(run(started_at=5000, completed_at=4000), now_ms=0).duration_ms == 0


def iterations(results: str, max_entries: int) -> list[int]:
    return [s.iteration for s in build_execution_history(entries(results), max_entries=max_entries, now_ms=0)]


@pytest.mark.parametrize(
    ("results", "max_entries", "kept"),
    [
        ("", 10, []),
        ("sss", 10, [1, 2, 3]),
        ("ssssssssssss", 10, list(range(3, 13))),
        ("ffssssssssff", 10, list(range(3, 13))),
        # More than 2 failures in the window: the last 5 failures of all join, in order.
        ("fsfsfffffsss", 3, [10, 11, 12]),
        ("ffsssffsfs", 5, [1, 2, 6, 7, 8, 9, 10]),
        ("fffsssfffs", 4, [2, 3, 7, 8, 9, 10]),
        ("ttsssttstt", 5, [2, 6, 7, 8, 9, 10]),
        ("ffsssccclc", 5, [6, 7, 8, 9, 10]),
        # C-42's own case: 12 entries, 8 failures in the window, kept whole and in order.
        ("sssfsfffffff", 10, list(range(3, 13))),
    ],
)
def test_the_window_and_the_older_failures(results: str, max_entries: int, kept: list[int]) -> None:
    """S6-033, S6-060, C-42."""
    assert iterations(results, max_entries) == kept


@given(st.text(alphabet="sftlc", max_size=40), st.integers(1, 12))
def test_selection_is_the_window_and_at_most_five_more_in_order(results: str, max_entries: int) -> None:
    """C-42: chronological, without doubles, between window and window + 5."""
    kept = iterations(results, max_entries)
    window = range(max(1, len(results) - max_entries + 1), len(results) + 1)
    assert kept == sorted(set(kept))
    assert set(window) <= set(kept)
    assert len(kept) <= len(window) + 5
    assert all(results[i - 1] in "ft" for i in kept if i not in window)


def test_failures_are_left_alone_where_nobody_asks(run: Run) -> None:
    """S6-020: the option summarize_failures."""
    asked, not_asked = (
        build_execution_history(entries("ffffffss"), max_entries=5, now_ms=0, summarize_failures=is_asked)
        for is_asked in (True, False)
    )
    assert [summary.iteration for summary in asked] == [2, 3, 4, 5, 6, 7, 8]
    assert [summary.iteration for summary in not_asked] == [4, 5, 6, 7, 8]


def test_options_leave_out_output_and_tokens(run: Run) -> None:
    """S6-060, C-41."""
    [summary] = build_execution_history([run(output="x")], max_entries=1, now_ms=0, include_output=False)
    assert (summary.output, summary.tokens) == (None, None)
    [summary] = build_execution_history([run(output="x")], max_entries=1, now_ms=0, include_tokens=True)
    assert summary.tokens is not None


def test_each_agent_may_have_its_own_cut(run: Run) -> None:
    """S6-110."""
    runs = [run(agent="planner", output="abcdef"), run(agent="developer", output="abcdef")]
    limits = {"planner": 2, "developer": 4}
    history = build_execution_history(runs, max_entries=2, now_ms=0, summary_chars=lambda agent: limits[agent])
    assert [summary.output.summary for summary in history if summary.output] == ["ab...", "abcd..."]


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="max_entries is 0"):
        build_execution_history([], max_entries=0, now_ms=0)


class Counted(Sequence[Any]):
    """A long history of one run again and again, which counts how often it is read."""

    def __init__(self, entry: dict[str, Any], length: int) -> None:
        self.entry, self.length, self.reads = entry, length, 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        assert isinstance(index, int), "a slice would copy"
        self.reads += 1
        return self.entry


def test_a_long_history_costs_the_window_only(run: Run) -> None:
    """S6-060: whatever its length, only the window and the last failures are read."""
    reads = set()
    for length in (1_000, 1_000_000):
        for entry in (run(), run(result="failure")):
            history = Counted(entry, length)
            build_execution_history(history, max_entries=10, now_ms=0)
            reads.add((entry["result"], history.reads))
    assert len(reads) == 2


def test_how_an_agent_has_done(run: Run) -> None:
    """S6-051, C-49: rate over its runs, average of runs from a step's first attempt to its success."""
    runs = [
        run(iteration=1, plan_step=1, result="failure", completed_at=1000),
        run(iteration=2, plan_step=1, result="timeout", completed_at=2000),
        run(iteration=3, plan_step=1, result="success", completed_at=3000),
        run(iteration=4, plan_step=2, result="success", completed_at=4000),
        run(iteration=5, plan_step=3, result="limit", completed_at=5000),
        run(iteration=6, agent="planner", result="cancelled"),
        run(iteration=7, agent="tester", result="failure", completed_at=7000),
    ]
    done = performances(runs)
    assert done["developer"].to_json() == {
        "last_success": "1970-01-01T00:00:04.000Z",
        "last_failure": "1970-01-01T00:00:02.000Z",
        "success_rate": 50.0,
        "iteration_average": 2.0,
    }
    assert "planner" not in done
    again = performances([*runs, run(iteration=8, plan_step=1, result="success", completed_at=8000)])
    assert again["developer"].iteration_average == 1.7, "attempts before a success do not count again: 3, 1 and 1 runs"
    assert (done["tester"].success_rate, done["tester"].iteration_average) == (0.0, None)
