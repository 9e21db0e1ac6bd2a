"""An evaluation as one HTML page without scripts and external resources. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from rawko.app.evaluation.evaluation import Evaluation
from rawko.app.evaluation.results import Attempt, TaskFinding, summed
from rawko.vocabulary.visible import visible_html

_MOST_STATES: Final = 12
"""Most states that are named per task; those that were entered most often come first."""

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #cf222e; --dim: #777; }
@media (prefers-color-scheme: dark) { :root { --good: #57ab5a; --bad: #f47067; --dim: #999; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.passed { color: var(--good); } .failed { color: var(--bad); } .dim { color: var(--dim); }
meter { width: 6rem; vertical-align: middle; }
ul { margin: .2rem 0; padding-left: 1.2rem; }
.bar { white-space: nowrap; } summary { cursor: pointer; }
code { font-size: .9em; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
"""


def evaluation_page(evaluation: Evaluation) -> str:
    """The page as HTML."""
    findings, notes = evaluation.findings(), evaluation.notes
    every = summed(findings)
    title = f"{every['passed']} of {every['attempts']} attempts passed"
    agents = sorted({task.file.agent or evaluation.agent or "all agents" for task in evaluation.tasks})
    about = (notes.id if notes else "", *agents, evaluation.settings.model, _money(every["cost_usd"]))
    told = f"Evaluation {', '.join(filter(None, about))}"
    stopped = f"<p class='failed'>Stopped, {len(evaluation.open_attempts)} left: {visible_html(evaluation.stopped)}</p>"
    attempts = sorted(evaluation.done.values(), key=lambda one: (one.task, one.number))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{visible_html(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{visible_html(title)}</h1><p class='dim'>{visible_html(told)}</p>",
            stopped if evaluation.stopped else "",
            _table(_HEADS, (_task_row(one, evaluation.attempts) for one in findings)),
            "<h2>Attempts</h2>",
            _table(_ATTEMPT_HEADS, map(_attempt_row, attempts)),
            "</body></html>",
        ]
    )


_HEADS: Final = ("task", "passed", "pass@1", "pass@n", "mean time", "mean tokens", "cost", "states, checks, monitors")
_ATTEMPT_HEADS: Final = ("attempt", "result", "outcome", "time", "iterations", "tokens", "cost", "run, checks")
_RIGHT: Final = frozenset({"pass@1", "pass@n", "mean time", "mean tokens", "cost", "time", "iterations", "tokens"})


def _table(heads: tuple[str, ...], rows: Iterable[str]) -> str:
    head = "".join(f"<th{_right(one)}>{one}</th>" for one in heads)
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _row(heads: tuple[str, ...], cells: Iterable[str]) -> str:
    filled = zip(heads, cells, strict=True)
    return f"<tr>{''.join(f'<td{_right(head)}>{cell}</td>' for head, cell in filled)}</tr>"


def _right(head: str) -> str:
    return " class='n'" if head in _RIGHT else ""


def _task_row(found: TaskFinding, attempts: int) -> str:
    last = found.pass_at.get(attempts)
    cells = [
        visible_html(found.task),
        f"<span class='bar'><meter max='{max(found.attempts, 1)}' value='{found.passed}'></meter> "
        f"{found.passed}/{found.attempts}</span>",
        f"{found.pass_at[1]:.0%}" if found.attempts else "",
        "" if last is None else f"{last:.0%}",
        f"{found.duration_s:.1f} s",
        f"{found.tokens:,.0f}",
        _money(found.cost_usd),
        _details(found),
    ]
    return _row(_HEADS, cells)


def _details(found: TaskFinding) -> str:
    often = sorted(found.states.items(), key=lambda one: (-one[1], one[0]))
    more = f" <span class='dim'>and {len(often) - _MOST_STATES} more</span>" if len(often) > _MOST_STATES else ""
    states = ", ".join(f"{visible_html(name)} {count}" for name, count in often[:_MOST_STATES])
    told = [f"not held {count}×: <code>{visible_html(name)}</code>" for name, count in found.failed.items()]
    told += [f"monitor {visible_html(name)}: {count}×" for name, count in found.violated.items()]
    lines = "".join(f"<div class='failed'>{one}</div>" for one in told)
    return f"{lines}<details><summary>{len(often)} states</summary>{states}{more}</details>"


def _attempt_row(one: Attempt) -> str:
    checks = "".join(
        f"<li class='{_word(check.held)}'><code>{visible_html(check.title)}</code>: {visible_html(check.found)}</li>"
        for check in one.checks
    )
    problem = f"<div class='dim'>{visible_html(one.problem)}</div>" if one.problem else ""
    cells = [
        visible_html(f"{one.task}-{one.number}"),
        f"<span class='{_word(one.passed)}'>{_word(one.passed)}</span>",
        visible_html(one.outcome),
        f"{one.duration_ms / 1000:.1f} s",
        str(one.iterations),
        f"{one.usage.total_tokens:,}",
        _money(one.cost_usd),
        f"<code>{visible_html(one.run)}</code>{problem}<ul>{checks}</ul>",
    ]
    return _row(_ATTEMPT_HEADS, cells)


def _word(is_good: bool) -> str:
    return "passed" if is_good else "failed"


def _money(usd: Any) -> str:
    return "" if not usd else f"${usd:.4f}" if usd < 0.1 else f"${usd:.2f}"
