"""Results of attempts, and statistics per task: rates, costs, times. Pure.

pass@k is the probability that at least one of k attempts passes, estimated from n attempts of which c have passed:

    pass@k = 1 - C(n - c, k) / C(n, k)          3 of 10 passed: pass@1 = 0.3, pass@3 = 1 - 35/120 = 0.708
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

from rawko.vocabulary.base import Data
from rawko.vocabulary.usage import Usage


class Found(Data):
    """The result of one check of an attempt: its title, whether it held, and the finding in a sentence."""

    title: str
    held: bool
    found: str


class Attempt(Data):
    """The result of one attempt at a task.

    Attributes:
        number: Counted from 1.
        run: Id of its run; "" where the folder could not be prepared, so that no run started.
        outcome: Outcome of the run; "not begun" where no run started.
        passed: Every check held, and no monitor was violated; the agent's own claim does not count.
        problem: Why it did not end successfully; "" where it did.
        states: How often each state was entered, by "chart/state".
        violated: Names of the monitors that stopped the run.
        elapsed_ms: Working time of the whole evaluation when the attempt ended.
    """

    task: str
    number: int
    run: str
    outcome: str
    passed: bool
    problem: str = ""
    checks: tuple[Found, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None
    duration_ms: int = 0
    iterations: int = 0
    files: int = 0
    states: Mapping[str, int] = {}
    violated: tuple[str, ...] = ()
    elapsed_ms: int = 0


class TaskFinding(Data):
    """Statistics of the attempts at one task.

    Attributes:
        pass_at: pass@k by k, from 1 to the number of ended attempts.
        cost_usd: Cost of all attempts; None where it is not known.
        duration_s, iterations, tokens: Mean of an attempt.
        states: How often each state was entered, in all attempts.
        violated: Number of attempts that each monitor has stopped.
        failed: Number of attempts in which each check did not hold.
    """

    task: str
    attempts: int
    passed: int
    pass_at: Mapping[int, float]
    cost_usd: float | None
    duration_s: float
    iterations: float
    tokens: float
    states: Mapping[str, int]
    violated: Mapping[str, int]
    failed: Mapping[str, int]


def pass_at(attempts: int, passed: int, k: int) -> float:
    """The probability that at least one of `k` attempts passes, if `passed` of `attempts` did.

    >>> [round(pass_at(10, 3, k), 3) for k in (1, 3, 8)]
    [0.3, 0.708, 1.0]
    """
    return 1.0 - comb(attempts - passed, k) / comb(attempts, k)


def findings_of(tasks: Sequence[str], attempts: Sequence[Attempt]) -> tuple[TaskFinding, ...]:
    """The statistics by task, in order; a task without ended attempts has zeros."""
    return tuple(_finding(task, [one for one in attempts if one.task == task]) for task in tasks)


def _finding(task: str, attempts: Sequence[Attempt]) -> TaskFinding:
    count, passed = len(attempts), sum(one.passed for one in attempts)
    costs = [one.cost_usd for one in attempts]
    failed = [check.title for one in attempts for check in one.checks if not check.held]
    return TaskFinding(
        task=task,
        attempts=count,
        passed=passed,
        pass_at={k: pass_at(count, passed, k) for k in range(1, count + 1)},
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        duration_s=_mean([one.duration_ms / 1000 for one in attempts]),
        iterations=_mean([one.iterations for one in attempts]),
        tokens=_mean([one.usage.total_tokens for one in attempts]),
        states=_sums([one.states for one in attempts]),
        violated=_sums([dict.fromkeys(one.violated, 1) for one in attempts]),
        failed=_sums([{title: 1} for title in failed]),
    )


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _sums(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in counts:
        for name, count in one.items():
            total[name] = total.get(name, 0) + count
    return dict(sorted(total.items()))


def rate(findings: Sequence[TaskFinding]) -> float:
    """The share of attempts that have passed; 0 where there are none."""
    count = sum(one.attempts for one in findings)
    return sum(one.passed for one in findings) / count if count else 0.0


def summed(findings: Sequence[TaskFinding]) -> dict[str, Any]:
    """Statistics of all tasks: {attempts, passed, rate, pass_at_1, cost_usd}; `pass_at_1` is the mean over tasks."""
    costs = [one.cost_usd for one in findings if one.attempts]
    tried = [one for one in findings if one.attempts]
    return {
        "attempts": sum(one.attempts for one in findings),
        "passed": sum(one.passed for one in findings),
        "rate": rate(findings),
        "pass_at_1": _mean([one.pass_at[1] for one in tried]),
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
    }
