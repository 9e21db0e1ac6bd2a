"""The history for the arbiter: selected executions with shortened outputs, and the performance of each agent.

Works on the context's frozen entries, without copying a long history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from rawko.cutting import cut
from rawko.machines.orchestrator.arbiter.times import iso
from rawko.machines.orchestrator.context import ExecutionResult
from rawko.vocabulary.agent import RecentPerformance
from rawko.vocabulary.base import Data
from rawko.vocabulary.errors import Category, RecoveryOption
from rawko.vocabulary.snapshot import FileChange

FAILURES: Final = frozenset({"failure", "timeout"})
FAILURES_TOLERATED: Final = 2
"""If more executions than this failed in the window, older failures are added to it (S6-060)."""
OLDER_FAILURES: Final = 5
CUT: Final = "..."


class OutputSummary(Data):
    """Output and changes of an execution.

    Attributes:
        summary: The output, shortened; None where there was none, which is not the same as "" (C-43).
        full: The output up to `full_chars`; None unless asked for.
        chars: Length of the whole output, if the longer of the two is cut: the reader can open the whole (S6-102).
        changes: Kind and lines of the first `files_modified`, from the run's trees (C-48, AL-103).
    """

    summary: str | None = None
    full: str | None = None
    chars: int | None = None
    files_modified: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    steps_completed: tuple[int, ...] = ()


class ErrorSummary(Data):
    """Why an execution failed (S6-032)."""

    message: str
    category: Category
    step: int | None = None
    tool: str | None = None
    recovery_options: tuple[RecoveryOption, ...] = ()


class TokenSummary(Data):
    """Tokens of an execution; `input` includes tokens read from and written to caches."""

    input: int
    output: int
    total: int


class ExecutionSummary(Data):
    """A summary of one execution (S6-030). `completed_at` is None while it runs."""

    agent: str
    iteration: int
    status: ExecutionResult
    duration_ms: int
    output: OutputSummary | None = None
    error: ErrorSummary | None = None
    tokens: TokenSummary | None = None
    started_at: str
    completed_at: str | None = None


def truncate(text: str, limit: int) -> str:
    """The first `limit` characters, followed by "..." if the text is longer (C-14)."""
    return cut(text, limit, CUT, is_beyond=True)


def build_execution_summary(
    entry: Mapping[str, Any],
    *,
    now_ms: int,
    summary_chars: int = 300,
    full_chars: int | None = None,
    include_output: bool = True,
    include_tokens: bool = True,
    include_changes: bool = True,
) -> ExecutionSummary:
    """The summary of one execution.

    Args:
        entry: An ExecutionEntry as data.
        now_ms: Epoch milliseconds, for the duration of an execution that still runs.
        full_chars: Length of `full`; None leaves it out.
        include_changes: Whether to include kind and lines of the changed files beside their names.

    Source: S6-023, S6-030, S6-031, C-41, C-43.
    """
    ended = entry["completed_at"]
    return ExecutionSummary(
        agent=entry["agent"],
        iteration=entry["iteration"],
        status=entry["result"],
        duration_ms=max(0, (now_ms if ended is None else ended) - entry["started_at"]),
        output=_output(entry, summary_chars, full_chars, include_changes) if include_output else None,
        error=_error(entry["error"]),
        tokens=_tokens(entry["usage"]) if include_tokens else None,
        started_at=iso(entry["started_at"]),
        completed_at=None if ended is None else iso(ended),
    )


def _output(
    entry: Mapping[str, Any], summary_chars: int, full_chars: int | None, include_changes: bool
) -> OutputSummary | None:
    text, files, steps = entry["output"], tuple(entry["files_changed"]), tuple(entry["steps_completed"])
    if text is None and not files and not steps:
        return None
    return OutputSummary(
        summary=None if text is None else truncate(text, summary_chars),
        full=None if text is None or full_chars is None else truncate(text, full_chars),
        chars=len(text)
        if text is not None and len(text) > (summary_chars if full_chars is None else full_chars)
        else None,
        files_modified=files,
        changes=_changes(entry) if include_changes else (),
        steps_completed=steps,
    )


def _changes(entry: Mapping[str, Any]) -> tuple[FileChange, ...]:
    return tuple(FileChange(**change) for change in entry.get("changes") or ())


def _error(error: Mapping[str, Any] | None) -> ErrorSummary | None:
    if error is None:
        return None
    return ErrorSummary(
        message=error["message"],
        category=error["category"],
        step=error["plan_step"],
        tool=error["tool"],
        recovery_options=tuple(RecoveryOption(**option) for option in error["recovery_options"]),
    )


def _tokens(usage: Mapping[str, Any]) -> TokenSummary:
    taken = usage["input_tokens"] + usage["cache_read_tokens"] + usage["cache_write_tokens"]
    return TokenSummary(input=taken, output=usage["output_tokens"], total=taken + usage["output_tokens"])


def build_execution_history(
    entries: Sequence[Mapping[str, Any]],
    *,
    max_entries: int,
    now_ms: int,
    summary_chars: int | Callable[[str], int] = 300,
    include_output: bool = True,
    include_tokens: bool = False,
    summarize_failures: bool = True,
) -> tuple[ExecutionSummary, ...]:
    """Summarise recent executions for the arbiter; only the last one includes kind and lines of its changed files.

    Args:
        entries: Whole history, oldest first, as data.
        max_entries: Trailing entries to keep, >= 1.
        now_ms: Epoch milliseconds.
        summary_chars: Cut per output, in characters, before the "..." mark; or a function of the agent's name.

    Returns:
        Oldest first: the trailing window, joined with the last 5 failures of the whole history where more than 2
        of the window failed; so between `max_entries` and `max_entries` + 5 of a long history.

    Raises:
        ValueError: `max_entries` < 1.

    Source: S6-060, C-42.
    """
    if max_entries < 1:
        raise ValueError(f"max_entries is {max_entries}; accepted: 1 or more")
    chars = summary_chars if callable(summary_chars) else lambda _agent: summary_chars
    return tuple(
        build_execution_summary(
            entries[index],
            now_ms=now_ms,
            summary_chars=chars(entries[index]["agent"]),
            include_output=include_output,
            include_tokens=include_tokens,
            include_changes=index == len(entries) - 1,
        )
        for index in _selected(entries, max_entries, summarize_failures)
    )


def _selected(entries: Sequence[Mapping[str, Any]], max_entries: int, summarize_failures: bool) -> list[int]:
    window = range(max(0, len(entries) - max_entries), len(entries))
    failed = sum(entries[index]["result"] in FAILURES for index in window)
    if not summarize_failures or failed <= FAILURES_TOLERATED:
        return list(window)
    return sorted({*window, *_last_failures(entries)})


def _last_failures(entries: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    found = 0
    for index in range(len(entries) - 1, -1, -1):
        if entries[index]["result"] in FAILURES:
            yield index
            found += 1
            if found == OLDER_FAILURES:
                return


def performances(entries: Sequence[Mapping[str, Any]]) -> dict[str, RecentPerformance]:
    """The performance of each agent that has run in this task.

    The rate counts successes among the agent's runs that succeeded or failed (a limit or a cancellation is neither).
    The average is over successful steps: the number of the agent's runs up to the success. Runs without a plan count
    as one step.

        runs on step 1: failure, success; on step 2: success   ->   rate 66.7, average (2 + 1) / 2 = 1.5

    Source: S6-051, C-49.
    """
    tallies: dict[str, _Tally] = {}
    for entry in entries:
        tallies.setdefault(entry["agent"], _Tally()).add(entry)
    return {agent: tally.performance() for agent, tally in tallies.items() if tally.judged}


class _Tally:
    """Running sums of one agent."""

    def __init__(self) -> None:
        self.judged = 0
        self.successes = 0
        self.last_success: int | None = None
        self.last_failure: int | None = None
        self._attempts: dict[int | None, int] = {}
        self._runs_to_success: list[int] = []

    def add(self, entry: Mapping[str, Any]) -> None:
        is_success = entry["result"] == "success"
        if not is_success and entry["result"] not in FAILURES:
            return
        ended = entry["started_at"] if entry["completed_at"] is None else entry["completed_at"]
        step = entry["plan_step"]
        self.judged += 1
        self._attempts[step] = self._attempts.get(step, 0) + 1
        if is_success:
            self.successes += 1
            self.last_success = ended
            self._runs_to_success.append(self._attempts.pop(step))
        else:
            self.last_failure = ended

    def performance(self) -> RecentPerformance:
        runs = self._runs_to_success
        return RecentPerformance(
            last_success=None if self.last_success is None else iso(self.last_success),
            last_failure=None if self.last_failure is None else iso(self.last_failure),
            success_rate=round(100 * self.successes / self.judged, 1),
            iteration_average=round(sum(runs) / len(runs), 1) if runs else None,
        )
