"""The summary at the end of a run, for people or as one line of JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TextIO

from rawko.app.run.report import Report
from rawko.cli.output import Painter, exact, visible, visible_json, visible_line

MAX_DIFF_LINES = 400
MAX_FILES = 100
_VERDICTS = {
    "success": ("Task completed", "green"),
    "failure": ("Task failed", "red"),
    "limit": ("Limit reached", "yellow"),
    "cancelled": ("Task cancelled", "yellow"),
    "needs_person": ("A person is needed", "yellow"),
    "interrupted": ("Interrupted", "yellow"),
}
_REMEDIES = {
    "authentication": "Check ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN).",
    "not_found": "Check the model's name (--model, RAWKO_MODEL, `model` in .rawko/config.yaml) and ANTHROPIC_BASE_URL.",
    "permission": "The key may not use this model; check --model and the key.",
    "billing": "Check the account's balance and limits.",
}
_HOW_TO_ANSWER = {
    "approval": "Nobody is there to allow it: rawko approve {run}, or rawko deny {run}; "
    "or run again with --yes or a rule in .rawko/config.yaml.",
    "clarify": 'Nobody is there to answer: rawko answer {run} "..."',
    "pause": 'Nobody is there to look: rawko answer {run} "how to go on"; or rawko cancel {run}',
    "budget": "Go on with a larger budget: rawko resume {run} --max-cost USD (or --max-tokens N, --max-time 1h)",
}


def how_to_answer(kind: str, run: str) -> str:
    """What a person may type to answer a question of a kind."""
    return _HOW_TO_ANSWER.get(kind, "").format(run=run)


def print_report(report: Report, *, as_json: bool) -> None:
    """Print the summary; with `as_json` on standard error, and the report as the last line of standard output."""
    _print_summary(report, sys.stderr if as_json else sys.stdout, with_diff=not as_json)
    if as_json:
        print(visible_json(report.to_json()), flush=True)


def _print_summary(report: Report, stream: TextIO, *, with_diff: bool) -> None:
    paint = Painter(stream)
    verdict, colour = ("Not started", "red") if report.is_bad_input else _VERDICTS[report.outcome]
    where = f" in state {report.state}" if report.outcome in ("needs_person", "failure", "interrupted") else ""
    print(file=stream)
    print(paint(verdict + visible_line(where), "bold", colour), file=stream)
    if report.summary:
        print(_moved_in(visible(report.summary)), file=stream)
    if report.question is not None:
        _print_question(report.question, report.run, stream)
    if report.outcome == "limit":
        print(_how_to_go_on(report), file=stream)
    if report.is_bad_input and report.error is not None:
        print(_REMEDIES.get(str(report.error.get("code")), ""), file=stream)
    print(_counts(report), file=stream)
    for note in report.notes:
        print(paint(f"note: {visible_line(note)}", "yellow"), file=stream)
    if report.files_changed:
        _print_files(report.files_changed, stream, paint)
        if with_diff:
            _print_diff(report.diff, stream, paint)
    else:
        print("no files changed", file=stream)
    stream.flush()


def _counts(report: Report) -> str:
    cost = "cost unknown (no price for the model; see `prices` in .rawko/config.yaml)"
    if report.cost_usd is not None:
        cost = f"${report.cost_usd:.4f}"
    plural = "" if report.iterations == 1 else "s"
    calls = f"{report.usage.calls} call{'' if report.usage.calls == 1 else 's'}"
    return (
        f"{report.iterations} iteration{plural} · {report.usage.total_tokens:,} tokens in {calls} · {cost} "
        f"· {report.duration_ms / 1000:.1f} s · run {report.run}"
    )


def _print_question(question: Mapping[str, Any], run: str, stream: TextIO) -> None:
    show = exact if question.get("kind") == "approval" else visible
    print(_moved_in(show(str(question.get("text") or ""))), file=stream)
    print(how_to_answer(str(question.get("kind")), run), file=stream)


def _moved_in(text: str) -> str:
    """The text with its further lines moved in, so that none of them passes for a line of the summary itself."""
    return text.replace("\n", "\n  ")


def _how_to_go_on(report: Report) -> str:
    """A limit keeps all work; how to go on depends on what was used up."""
    if report.state == "out_of_budget":
        return how_to_answer("budget", report.run)
    return f"Go on with new limits: rawko resume {report.run} (or with --max-iterations N)"


def _print_files(paths: tuple[str, ...], stream: TextIO, paint: Painter) -> None:
    print(paint(f"{len(paths)} file{'' if len(paths) == 1 else 's'} changed:", "bold"), file=stream)
    for path in paths[:MAX_FILES]:
        print(f"  {visible_line(path)}", file=stream)
    if len(paths) > MAX_FILES:
        print(paint(f"  … {len(paths) - MAX_FILES} more", "dim"), file=stream)


def _print_diff(diff: str, stream: TextIO, paint: Painter) -> None:
    lines = diff.removesuffix("\n").split("\n") if diff else []
    for line in lines[:MAX_DIFF_LINES]:
        print(paint(visible(line), *diff_style(line)), file=stream)
    if len(lines) > MAX_DIFF_LINES:
        print(paint(f"… {len(lines) - MAX_DIFF_LINES} more lines", "dim"), file=stream)


def diff_style(line: str) -> tuple[str, ...]:
    """How a line of a unified diff is painted."""
    if line.startswith(("+++", "---", "diff ")):
        return ("bold",)
    return {"+": ("green",), "-": ("red",), "@": ("cyan",)}.get(line[:1], ())
